import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { hashText } from "@sluice/worker-proxy/plugin";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type CountedEnv, proxy, used } from "./fixture/counted-worker.js";
import { gateway, task } from "./support/durable-gateway.js";

/*
 * Counts the use of Durable Objects and R2 by each kind of work. `node bench/capacity.ts` runs this file, reads its output, and
 * writes the tables of docs/guides/where-data-is-stored.md. The guide's advice holds within the bounds of these tests.
 */

const START = Date.UTC(2040, 0, 1);
const bindings = env as unknown as CountedEnv;
const { COUNTED } = env as unknown as { readonly COUNTED: TestNamespace };
/** The timer of the platform, which no test stops. */
const { setTimeout: wait } = globalThis;
const rest = (ms = 0) => new Promise<void>((resolve) => wait(resolve, ms));

let tests = 0;
let user = "";
beforeEach(() => {
  tests += 1;
  user = `capacity-${tests}`;
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

interface Use {
  readonly requests: number;
  readonly alarms: number;
  readonly read: number;
  readonly written: number;
  readonly classA: number;
  /** Time in memory, in seconds, where it is long. */
  readonly seconds?: number;
}

/** Counts a piece of work. */
async function count(work: () => Promise<unknown>): Promise<Use> {
  Object.assign(used, { requests: 0, alarms: 0, read: 0, written: 0, classA: 0 });
  await work();
  return { ...used };
}

/** Prints the counts for the capacity script, and checks their bounds. */
function report(name: string, use: Use, max: Pick<Use, "read" | "written">): void {
  console.log(`capacity ${JSON.stringify({ name, ...use })}`);
  expect.soft(use.read).toBeLessThanOrEqual(max.read);
  expect.soft(use.written).toBeLessThanOrEqual(max.written);
}

async function send(path: string, body: object | Uint8Array<ArrayBuffer>, headers = {}): Promise<Response> {
  const behind: Promise<unknown>[] = [];
  const isFile = body instanceof Uint8Array;
  const request = new Request(`https://proxy.example${path}`, {
    method: "POST",
    body: isFile ? body : JSON.stringify(body),
    headers: {
      authorization: user,
      "content-type": isFile ? "application/octet-stream" : "application/json",
      ...(isFile && { "content-length": `${body.length}` }),
      ...headers,
    },
  });
  const response = await proxy.fetch(request, bindings, { waitUntil: (work) => void behind.push(work) });
  if (response.headers.get("content-type") === "text/event-stream") return response;
  const text = await response.text();
  await Promise.all(behind);
  expect.soft([response.status < 300, text.slice(0, 200)]).toEqual([true, expect.anything()]);
  return new Response(text);
}

const openObject = async () => COUNTED.get(COUNTED.idFromName(`user:${await hashText(user)}`));

/** Runs the alarms of the user's object that are due by a time, each at its time. */
async function runAlarms(until: number): Promise<void> {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const object = await openObject();
  for (;;) {
    const at = await runInDurableObject(object, (_, { storage }) => storage.getAlarm());
    if (at === null || at > until) break;
    vi.setSystemTime(Math.max(Date.now(), at));
    await runDurableObjectAlarm(object);
    // its jobs run behind it
    await rest(100);
  }
  vi.setSystemTime(Math.max(Date.now(), until));
}

const chat = { model: "delta-5.3", messages: [{ role: "user", content: "hi" }] };
const usage = () => Response.json({ choices: [], usage: { total_tokens: 7 } });
const word = (nth: number) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: `word ${nth} ` }, finish_reason: null }] })}\n\n`;
const end = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"total_tokens":7}}\n\ndata: [DONE]\n\n`;

/** Makes the events of a response of 30 s, in the object that reads them. */
function createEvents(): ReadableStream<Uint8Array> {
  let nth = 0;
  return new ReadableStream({
    async pull(controller) {
      nth += 1;
      if (nth <= 300) await rest(100);
      controller.enqueue(new TextEncoder().encode(nth <= 300 ? word(nth) : end));
      if (nth > 300) controller.close();
    },
  });
}

test.each([0, 1000, 10_000, 100_000])(
  "a response costs a budget as much beside %i open reservations as beside none (case 141)",
  async (open) => {
    gateway.respondWith(usage);
    await send("/v1/chat/completions", chat);
    await runInDurableObject(await openObject(), (_, { storage }) => {
      storage.sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
          INSERT INTO budget_reservations SELECT key, 'open-' || i, name, resets_at, 1, ?2 + i FROM budget_windows, n WHERE ?1 > 0`,
        open,
        START + 3_600_000,
      );
    });
    await send("/v1/chat/completions", chat);
    const use = await count(() => send("/v1/chat/completions", chat));
    const name = open === 0 ? "a budget" : `a budget, ${open.toLocaleString("en")} open`;
    report(name, use, { read: 15, written: 5 });
  },
);

test("a stored response of 30 s and 300 events, with a budget, until it is deleted (cases 108 and 141)", async () => {
  gateway.respondWith(usage);
  await send("/v1/chat/completions", chat);
  // jobs run in their object, so they need real timers
  vi.useRealTimers();
  gateway.respondWith(
    () => new Response(createEvents(), { headers: { "content-type": "text/event-stream" } }),
  );
  const use = await count(async () => {
    const response = await send("/v1/chat/completions", { ...chat, stream: true });
    expect(await response.text()).toContain("[DONE]");
    await rest(100);
  });
  report("a stored response", { ...use, seconds: 30 }, { read: 50, written: 20 });
  const deletion = await count(() => runAlarms(Date.now() + 700_000));
  report("the deletion of a stored response", deletion, { read: 30, written: 10 });
});

test("an idempotent request, with a budget, beside none and beside 100 others (cases 105, 141)", async () => {
  gateway.respondWith(usage);
  await send("/v1/chat/completions", chat);
  gateway.respondWith(() => Response.json({ data: [{ b64_json: "a picture" }] }));
  const image = { model: "gamma-image-5-0-260128", prompt: "a bird" };
  const create = async (key: string) => {
    await send("/v1/images/generations", image, { "idempotency-key": key });
    await rest(50);
  };
  await create("first");
  const use = await count(() => create("one"));
  report("an idempotent request", use, { read: 30, written: 15 });
  for (let nth = 0; nth < 100; nth += 1)
    await send("/v1/images/generations", image, { "idempotency-key": `${nth}` });
  expect((await count(() => create("last"))).written).toBeLessThanOrEqual(use.written);
});

test("an upload, and a video of a minute with its end, its webhook and its copy (case 141)", async () => {
  const file = new Uint8Array(100_000);
  file.set([0, 0, 0, 0x20, 0x66, 0x74, 0x79, 0x70, 0x69, 0x73, 0x6f, 0x6d]);
  let status = "QUEUED";
  const fetched: string[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (given) => {
    fetched.push(new URL(given instanceof Request ? given.url : given).host);
    return new Response(file, { headers: { "content-length": `${file.length}` } });
  });
  gateway.respondWith(({ method, url }) => {
    if (url.startsWith("https://app.example/")) return new Response(null, { status: 204 });
    if (method === "POST") return Response.json({ id: "task-c", status: "queued" });
    if (url.startsWith("https://cdn.example/")) return new Response(file);
    return task(status, { task_id: "task-c", result_url: "https://cdn.example/c.mp4" });
  });
  await send("/v1/uploads", file);
  report("an upload", await count(() => send("/v1/uploads", file)), { read: 20, written: 10 });
  const watched = await count(async () => {
    await send("/v1/video/generations", { model: "beta3.0-video", input: { prompt: "a bird" } });
    await runAlarms(START + 50_000);
  });
  report("a video of a minute that is watched", watched, { read: 120, written: 70 });
  status = "SUCCESS";
  const ended = await count(() => runAlarms(START + 200_000));
  expect(fetched).toEqual(["app.example", "cdn.example"]);
  report("its end, its webhook and its copy", ended, { read: 130, written: 75 });
});
