import { type ObjectState, streamLog, streamLogObject } from "@sluice/durable";
import { createProxy } from "@sluice/worker-proxy";

/*
 * Case 68: one event in many `data:` lines, each of which comes alone, through the stream log. The time for one byte
 * must not grow with the event. Figures are ratios of medians of runs that take turns in this process.
 */

const LINE = new TextEncoder().encode(`data: ${"x".repeat(93)}\n`);
const END = new TextEncoder().encode(
  '\ndata: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
);
// a larger event is not kept, and one that has come before its first reader is lost to it
const MEGABYTES = [0.1, 0.2, 0.4, 0.8, 1.4];
const RUNS = 5;

const gateway = { baseURL: "https://gateway.test", apiKey: () => "sk-bench-0123456789" };

/** Storage in memory: only the way through the log is measured. */
const state: ObjectState = {
  storage: {
    get: async () => undefined,
    put: async () => {},
    deleteAll: async () => {},
    getAlarm: async () => null,
    setAlarm: async () => {},
    deleteAlarm: async () => {},
    sync: async () => {},
    sql: {
      exec(query, ...bindings) {
        const rows = rowsOf(query, bindings);
        return { toArray: () => rows };
      },
    },
  },
  blockConcurrencyWhile: (work) => work(),
  waitUntil() {},
};
let isOpen = false;
let events: { readonly seq: number; readonly bytes: unknown }[] = [];

function rowsOf(query: string, [one, other]: unknown[]): Record<string, unknown>[] {
  if (query.startsWith("INSERT INTO stream")) isOpen = true;
  if (query.startsWith("INSERT INTO events")) events.push({ seq: Number(one), bytes: other });
  if (query.startsWith("SELECT seq")) return events.filter(({ seq }) => seq > Number(one)).slice(0, 1);
  if (query.startsWith("SELECT name")) return isOpen ? [{ name: "events" }] : [];
  if (query.startsWith("SELECT state")) return [{ state: "open", asked: "", whole: 1 }];
  return query.startsWith("SELECT max") ? [{ last: 0 }] : [];
}

async function msFor(megabytes: number): Promise<number> {
  isOpen = false;
  events = [];
  let lines = Math.round((megabytes * 1024 * 1024) / LINE.byteLength);
  const body = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        if (lines-- > 0) return controller.enqueue(LINE.slice());
        controller.enqueue(END);
        controller.close();
      },
    });
  const Log = streamLogObject({
    ...gateway,
    namespace: () => ({ idFromName: () => "", get: () => ({ fetch: async () => Response.json(true) }) }),
    fetch: async () => new Response(body(), { headers: { "content-type": "text/event-stream" } }),
  });
  const log = new Log(state, {});
  const proxy = createProxy({
    ...gateway,
    authenticate: "public",
    origins: [],
    models: ["delta-5.3"],
    plugins: [streamLog(() => ({ idFromName: () => "", get: () => log }))],
  });
  const startedAt = performance.now();
  const answer = await proxy.fetch(
    new Request("https://proxy.test/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "delta-5.3", stream: true, messages: [{ role: "user", content: "Hi" }] }),
    }),
  );
  const text = await answer.text();
  if (!text.includes("[DONE]")) throw new Error(`the answer is not whole: ${text.slice(-200)}`);
  return performance.now() - startedAt;
}

const times = new Map(MEGABYTES.map((megabytes) => [megabytes, [] as number[]]));
for (let run = 0; run < RUNS; run += 1)
  for (const megabytes of MEGABYTES) times.get(megabytes)?.push(await msFor(megabytes));
const medianOf = (values: readonly number[]) =>
  [...values].sort((one, other) => one - other)[values.length >> 1] ?? 0;
const [least = 1] = MEGABYTES;
const perMegabyte = (megabytes: number) => medianOf(times.get(megabytes) ?? []) / megabytes;
console.log("one event in lines of 100 bytes, through the stream log: time for one byte ÷ that of 0.1 MB");
for (const megabytes of MEGABYTES)
  console.log(
    `${String(megabytes).padStart(5)} MB  ${(perMegabyte(megabytes) / perMegabyte(least)).toFixed(2)}`,
  );
