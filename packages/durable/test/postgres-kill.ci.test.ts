import { expect, onTestFinished, test } from "vitest";
import { readerOf } from "../../worker-proxy/test/support/event-stream.js";
import { chunk } from "../../worker-proxy/test/support/upstream.js";
import { startDurableProxy } from "./support/workerd.js";

const ANSWERS = 100;
const body = JSON.stringify({
  model: "delta-5.3",
  stream: true,
  messages: [{ role: "user", content: "hi" }],
});

test("case 188: a process is killed with 100 open answers: another one ends them truthfully, settles each once and sends none again", async () => {
  const proxy = await startDurableProxy({
    fixture: "durable/test/fixture/kept-proxy.ts",
    objects: { STREAM_LOG: "StreamLog", ONCE: "Once", BUDGET: "Budget" },
  });
  onTestFinished(proxy.close);
  const other = await proxy.startAnother();
  proxy.upstream.answers((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(chunk("one"));
  });
  const users = Array.from({ length: ANSWERS }, (_, nth) => `user-${nth}`);
  const open = await Promise.all(
    users.map(async (user) => {
      const headers = { authorization: user, "idempotency-key": "once" };
      const response = await proxy.ask("/v1/chat/completions", { method: "POST", body, headers });
      await readerOf(response).until("one");
      return { user, path: `/v1/chat/streams/${response.headers.get("x-stream-id")}` };
    }),
  );
  expect(proxy.upstream.requests).toHaveLength(ANSWERS);

  await proxy.kill();
  const asked = (user: string, path: string, init: RequestInit = {}) =>
    fetch(other + path, {
      ...init,
      headers: { authorization: user, "content-type": "application/json", "idempotency-key": "once" },
    });
  const ends = open.map(async ({ user, path }) => {
    // by its id, and by the request that is sent again
    const again = await asked(user, path);
    const repeated = await asked(user, "/v1/chat/completions", { method: "POST", body });
    return [await again.text(), await repeated.text()];
  });
  for (const text of (await Promise.all(ends)).flat()) expect(text).toContain('"code":"stream_interrupted"');
  expect(proxy.upstream.requests).toHaveLength(ANSWERS);

  const budgets = () =>
    Promise.all(
      users.map(async (user) => {
        const { budgets } = (await (await asked(user, "/v1/budget")).json()) as {
          budgets: { reserved: number; spent: number }[];
        };
        return budgets.map(({ reserved, spent }) => `${reserved} ${spent}`).join();
      }),
    );
  await expect
    .poll(async () => new Set(await budgets()), { timeout: 30_000, interval: 500 })
    .toEqual(new Set(["0 1000"]));
  const lost = proxy.logs.filter((line) => line.includes('"outcome":"lost"'));
  expect(lost).toHaveLength(ANSWERS);
});
