import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import {
  Budget,
  budget,
  type ObjectNamespace,
  once,
  onceObject,
  streamLog,
  streamLogObject,
} from "@sluice/durable";
import { createProxy } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KEY } from "../../worker-proxy/test/support/key.js";
import { count, rowsReadOf, useOf } from "./support/counted.js";
import { type CountedEnv, proxy } from "./support/counted-worker.js";
import { gateway, task } from "./support/durable-gateway.js";
import { placeOf } from "./support/places.js";
import { countedState } from "./support/rows.js";

/*
 * Counts of what each kind of work uses of Durable Objects. `node bench/capacity.ts` runs this file, reads its lines and makes the
 * tables of docs/guides/where-data-is-stored.md of them. The bounds here are those below which the guide's advice holds.
 */

const START = Date.UTC(2040, 0, 1);
const DAY = 86_400_000;
const way = { baseURL: "https://gateway.example", apiKey: () => KEY };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: START });
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
  readonly classA?: number;
  /** Time in memory, in seconds, where it is long. */
  readonly seconds?: number;
}

/** Tells the script, and holds the bound of rows. */
function report(name: string, use: Use, most: Pick<Use, "read" | "written">): void {
  console.log(`capacity ${JSON.stringify({ name, ...use })}`);
  expect(use.read).toBeLessThanOrEqual(most.read);
  expect(use.written).toBeLessThanOrEqual(most.written);
}

/** A namespace whose only object is this one, and the number of its requests. */
function only(object: { fetch(request: Request): Promise<Response> }) {
  const used = { requests: 0 };
  const namespace = {
    idFromName: () => "",
    get: () => ({
      async fetch(request: Request) {
        used.requests += 1;
        return acrossIsolates(await object.fetch(request));
      },
    }),
  };
  return { used, namespace: () => namespace };
}

/** Copies an answer piece by piece, as workerd does between a Worker and an object: it can't pipe within one isolate. */
function acrossIsolates(answer: Response): Response {
  const reader = answer.body?.getReader();
  if (!reader) return answer;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, answer);
}

test.each([0, 1000, 10_000, 100_000])(
  "case 141: an answer costs a budget as much beside %i open reservations as beside none",
  async (open) => {
    const stub = env.BUDGET.get(env.BUDGET.idFromName(`capacity ${open}`));
    const use = await runInDurableObject(stub, async (_, state) => {
      const { rows, state: counted } = countedState(state);
      const { used, namespace } = only(new Budget(counted));
      const meter = budget({ namespace, limits: { all: 1e12 }, windowMs: DAY, reserveFor: () => 10 });
      const payable = { env: {}, context: undefined, user: { id: "ada" }, route: "chat" as const };
      const answer = async () => {
        const given = await meter.reserve(payable);
        if ("settle" in given) await given.settle({ total_tokens: 1 });
      };
      await answer();
      state.storage.sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
          INSERT INTO reservations SELECT 'open-' || i, ?2, 1, ?3 + i FROM n WHERE ?1 > 0`,
        open,
        START + DAY,
        START + 3_600_000,
      );
      await answer();
      Object.assign(rows, { read: 0, written: 0 });
      used.requests = 0;
      await answer();
      return { requests: used.requests, alarms: 0, ...rows };
    });
    report(`a budget, ${open.toLocaleString("en")} open`, use, { read: 25, written: 8 });
  },
);

const piece = (nth: number) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: `word ${nth} ` }, finish_reason: null }] })}\n\n`;
const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const common = { ...way, authenticate: () => ({ id: "ada" }), origins: [] };
const post = (path: string, body: object, headers = {}) =>
  new Request(`https://proxy.example${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

test("case 141: a kept answer of 30 s and 300 events", async () => {
  let out!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      out = controller;
    },
  });
  let onAsked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  const fetch = async () => {
    onAsked();
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const StreamLog = streamLogObject({ ...way, namespace: () => env.STREAM_LOG, fetch });
  const stub = env.STREAM_LOG.get(env.STREAM_LOG.idFromName("capacity"));
  const use = await runInDurableObject(stub, async (_, state) => {
    const { rows, state: counted } = countedState(state);
    const { used, namespace } = only(new StreamLog(counted, env));
    const kept = createProxy({ ...common, models: ["delta-5.3"], plugins: [streamLog(namespace)] });
    const request = { model: "delta-5.3", stream: true, messages: [{ role: "user", content: "hi" }] };
    const answer = await kept.fetch(post("/v1/chat/completions", request));
    const text = answer.text();
    // the object takes a place in the user's index first
    await isAsked;
    for (let nth = 1; nth <= 300; nth += 1) {
      out.enqueue(new TextEncoder().encode(piece(nth)));
      await vi.advanceTimersByTimeAsync(100);
    }
    out.enqueue(new TextEncoder().encode(end));
    out.close();
    await vi.advanceTimersByTimeAsync(100);
    expect(await text).toContain("[DONE]");
    // its alarms: one that looks after it, and one that deletes it
    return { requests: used.requests, alarms: 2, ...rows, seconds: 30 };
  });
  // the object asks twice for the place that the answer has among those of its user
  const place = await placeOf("capacity");
  const [read, written] = [use.read + place.read, use.written + place.written];
  report("a kept answer", { ...use, requests: use.requests + 2, read, written }, { read: 200, written: 20 });
});

test("case 141: an image that is remembered", async () => {
  const Once = onceObject({
    ...way,
    namespace: () => env.ONCE as unknown as ObjectNamespace,
    fetch: async () => Response.json({ data: [{ url: "https://a.example/a" }] }),
  });
  const stub = env.ONCE.get(env.ONCE.idFromName("capacity"));
  const use = await runInDurableObject(stub, async (_, state) => {
    const { rows, state: counted } = countedState(state);
    const { used, namespace } = only(new Once(counted, env));
    const remembers = createProxy({
      ...common,
      models: ["gamma-image-5-0-260128"],
      routes: ["images"],
      plugins: [once(namespace)],
    });
    const body = { model: "gamma-image-5-0-260128", prompt: "a bird" };
    const answer = await remembers.fetch(post("/v1/images/generations", body, { "idempotency-key": "one" }));
    expect(answer.status).toBe(200);
    // one more to the index of the user, of 4 rows with its alarm; its own alarm deletes it a day later
    const written = rows.written + 4;
    return { requests: used.requests + 1, alarms: 1, ...rows, written };
  });
  report("a remembered create", use, { read: 60, written: 30 });
});

const bindings = env as unknown as CountedEnv;
const film = new Uint8Array(100_000);
film.set([0, 0, 0, 0x20, 0x66, 0x74, 0x79, 0x70, 0x69, 0x73, 0x6f, 0x6d]);

/** Work of a user in the objects of `counted-worker.ts`, with what it uses. */
async function measured(work: () => Promise<unknown>): Promise<Use> {
  let read = 0;
  const used = await useOf(async () => {
    const before = rowsReadOf();
    await work();
    read = rowsReadOf() - before;
  });
  const { requests = 0, alarms = 0, rows = 0, classA = 0 } = used;
  return { requests, alarms, read, written: rows, classA };
}

async function ask(request: Request): Promise<Response> {
  const behind: Promise<unknown>[] = [];
  const signed = new Request(request, { headers: [...request.headers, ["authorization", "capacity"]] });
  const answer = await proxy.fetch(signed, bindings, { waitUntil: (work) => void behind.push(work) });
  const body = await answer.arrayBuffer();
  await Promise.all(behind);
  return new Response(body, { status: answer.status });
}

const upload = () =>
  ask(
    new Request("https://proxy.example/v1/uploads", {
      method: "POST",
      headers: { "content-type": "application/octet-stream", "content-length": String(film.length) },
      body: film,
    }),
  );

/** Lets the alarm of an object come, and rings it. */
async function ring(binding: "COUNTED_WATCH" | "COUNTED_INDEX", name: string): Promise<void> {
  const object = env[binding].get(env[binding].idFromName(name));
  const at = await runInDurableObject(object, (_, { storage }) => storage.getAlarm());
  vi.setSystemTime(Math.max(Date.now(), at ?? 0));
  await runDurableObjectAlarm(object);
}

test("case 141: an upload, and a film of a minute with its copy and its notice", async () => {
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
    count("outside");
    return new Response(film, { headers: { "content-length": String(film.length) } });
  });
  let status = "QUEUED";
  gateway.answers(({ method, url }) => {
    if (!url.startsWith("https://gateway.example/")) return new Response(null, { status: 201 });
    if (method === "POST") return Response.json({ id: "task-c", status: "queued" });
    return task(status, { task_id: "task-c", result_url: "https://cdn.example/c.mp4" });
  });
  await upload();
  report("an upload", await measured(upload), { read: 40, written: 40 });
  const watch = `${await hashOf("capacity")}:task-c`;
  const watched = await measured(async () => {
    await ask(post("/v1/video/generations", { model: "beta3.0-video", input: { prompt: "a" } }));
    for (let polls = 0; polls < 4; polls += 1) await ring("COUNTED_WATCH", watch);
    status = "SUCCESS";
    await ring("COUNTED_WATCH", watch);
  });
  report("a film of a minute that is watched", watched, { read: 200, written: 60 });
  const ended = await measured(async () => ring("COUNTED_WATCH", watch));
  report("its end and its notice", ended, { read: 100, written: 40 });
  const copied = await measured(async () => ring("COUNTED_INDEX", await hashOf("media\ncapacity")));
  report("its copy", copied, { read: 60, written: 40 });
});
