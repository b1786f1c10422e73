import { afterEach, beforeEach, expect, test } from "vitest";
import { readerOf } from "../../worker-proxy/test/support/event-stream.js";
import { chunk } from "../../worker-proxy/test/support/upstream.js";
import { startDurableProxy } from "./support/workerd.js";

let proxy: Awaited<ReturnType<typeof startDurableProxy>>;

beforeEach(async () => {
  const objects = { STREAM_LOG: "StreamLog", ONCE: "Once", BUDGET: "Budget" };
  proxy = await startDurableProxy({ fixture: "durable/test/fixture/kept-proxy.ts", objects });
});
afterEach(() => proxy.close());

const events = { "content-type": "text/event-stream" };
const body = JSON.stringify({
  model: "delta-5.3",
  stream: true,
  messages: [{ role: "user", content: "hi" }],
});

async function budget() {
  const { budgets } = (await (await proxy.ask("/v1/budget")).json()) as {
    budgets: { reserved: number; spent: number }[];
  };
  const [{ reserved, spent } = { reserved: -1, spent: -1 }] = budgets;
  return { reserved, spent };
}

const jobs = () =>
  proxy.logs.flatMap((line) => (line.includes("job {") ? [JSON.parse(line.slice(line.indexOf("{")))] : []));

/** By the objects' alarms alone, which come within 30 seconds: nobody asks for the answers. */
const PATIENCE = { timeout: 50_000, interval: 500 };

test("case 115: after a kill, the alarm settles a stream and a create, and gives the user's place back", async () => {
  proxy.upstream.answers((response, { url }) => {
    if (url.includes("images")) return;
    response.writeHead(200, events).write(chunk("one"));
  });
  const stream = await proxy.ask("/v1/chat/completions", { method: "POST", body });
  await readerOf(stream).until("one");
  const image = JSON.stringify({ model: "gamma-image-5-0-260128", prompt: "a bird" });
  const headers = { "idempotency-key": "a-bird" };
  const create = proxy.ask("/v1/images/generations", { method: "POST", body: image, headers });
  create.catch(() => {});
  await expect.poll(() => proxy.upstream.requests.length).toBe(2);
  await expect.poll(budget).toEqual({ reserved: 2000, spent: 0 });
  expect((await proxy.ask("/v1/chat/completions", { method: "POST", body })).status).toBe(429);

  await proxy.kill();
  await proxy.start();
  await expect.poll(budget, PATIENCE).toEqual({ reserved: 0, spent: 2000 });
  await expect.poll(() => jobs().filter(({ outcome }) => outcome === "lost").length).toBe(2);
  const lost = jobs().filter(({ outcome }) => outcome === "lost");
  expect(lost.find(({ kind }) => kind === "answer")).toMatchObject({
    id: stream.headers.get("x-stream-id"),
    user: "user-1",
    model: "delta-5.3",
    code: "stream_interrupted",
    reserved: 1000,
    spent: 1000,
  });
  expect(lost.find(({ kind }) => kind === "create")).toMatchObject({
    user: "user-1",
    code: "request_lost",
    reserved: 1000,
    spent: 1000,
  });
  expect(proxy.logs.join("\n")).toMatch(/streamLogObject: stream [0-9a-f]{32} was lost with its object/);
  const next = await proxy.ask("/v1/chat/completions", { method: "POST", body });
  expect(next.status).toBe(200);
  expect(proxy.upstream.requests).toHaveLength(3);
});
