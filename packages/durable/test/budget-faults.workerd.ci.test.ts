import { env } from "cloudflare:workers";
import { budget, streamLog } from "@sluice/durable";
import { createProxy, type Payable, type ProxyContext } from "@sluice/worker-proxy";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { KEY } from "../../worker-proxy/test/support/key.js";
import { gateway, ledger } from "./support/durable-gateway.js";

/** Facts of a request that the gateway needs. */
interface Asked {
  readonly usage: object;
  /** The events with which each of its choices ends. */
  readonly finish: string;
  /** Makes the client leave. */
  leave(): void;
}

/** One request, as its gateway, its client and its ledgers behave. */
interface Fault {
  /** True where the bill can't be known: then it is between what was billed and what was reserved. */
  readonly isUnknowable: boolean;
  /** The share of the usage that the gateway bills. */
  readonly bills: number;
  answer?(asked: Asked): Response | Promise<Response>;
  /** The body of the request, where the proxy is to refuse it. */
  readonly body?: object;
  readonly leaves?: "before" | "at the first piece";
  /** The calls of a ledger that fail, counted for this request from 1. */
  readonly failing?: (call: number) => boolean;
}

const json = (body: object, status = 200) => Response.json(body, { status });
const page = (status: number) =>
  new Response("<!doctype html><h1>Down</h1>", { status, headers: { "content-type": "text/html" } });
const piece = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "hi" } }] })}\n\n`;
const finishOf = (index: number) =>
  `data: ${JSON.stringify({ choices: [{ index, delta: {}, finish_reason: "stop" }] })}\n\n`;
const failure = 'event: error\ndata: {"error":{"message":"overloaded"}}\n\n';
const last = (usage: object | null) => `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
const done = "data: [DONE]\n\n";

/** A stream of these events; at its end it stops, breaks, or never ends. */
function stream(events: readonly string[], end: "ends" | "breaks" | "hangs" = "ends"): Response {
  const left = events.map((event) => new TextEncoder().encode(event));
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left.shift();
      if (next) return controller.enqueue(next);
      if (end === "ends") return controller.close();
      if (end === "breaks") return controller.error(new Error("cut"));
      return new Promise(() => {});
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const known = { isUnknowable: false, bills: 1 };
const free = { isUnknowable: false, bills: 0 };
const unknowable = { isUnknowable: true, bills: 1 };

const faults: Readonly<Record<string, Fault>> = {
  "a JSON answer": { ...known, answer: ({ usage }) => json({ choices: [], usage }) },
  "a stream": { ...known, answer: ({ usage, finish }) => stream([piece, piece, finish, last(usage), done]) },
  "a stream without [DONE]": {
    ...known,
    answer: ({ usage, finish }) => stream([piece, finish, last(usage)], "breaks"),
  },
  "a stream whose client leaves behind its usage": {
    ...known,
    leaves: "at the first piece",
    answer: ({ usage, finish }) => stream([piece + finish + last(usage)], "hangs"),
  },
  "an answer that quotes the key": { ...known, answer: ({ usage }) => json({ usage, note: KEY }) },
  "a refused connection": { ...free, answer: () => Promise.reject(new Error("Network connection lost.")) },
  "400": { ...free, answer: () => json({ error: { message: "no" } }, 400) },
  "429": { ...free, answer: () => json({ error: { message: "slow down" } }, 429) },
  "500": { ...free, answer: () => page(500) },
  "503": { ...free, answer: () => page(503) },
  "a redirect": { ...free, answer: () => new Response(null, { status: 302, headers: { location: "/" } }) },
  "a page": { ...free, answer: () => page(200) },
  "nothing at all": { ...free, answer: () => new Response(null, { status: 204 }) },
  "a stream that begins with an error": { ...free, answer: () => stream([failure]) },
  "JSON that is an error": { ...free, answer: () => json({ error: { message: "overloaded" } }) },
  "a client that has left": { ...free, leaves: "before" },
  "a model that is not listed": { ...free, body: { model: "gpt-dear" } },
  "a field that is not listed": { ...free, body: { fallbacks: ["gpt-dear"] } },
  "too many tokens": { ...free, body: { max_tokens: 1001 } },
  "a usage of null": { ...unknowable, answer: () => json({ choices: [], usage: null }) },
  "a usage of nulls": { ...unknowable, answer: () => json({ choices: [], usage: { total_tokens: null } }) },
  "no usage": { ...unknowable, answer: ({ finish }) => stream([piece, finish, done]) },
  "a stream with a usage of null": {
    ...unknowable,
    answer: ({ finish }) => stream([piece, finish, last(null), done]),
  },
  "a cut": { ...unknowable, answer: () => stream([piece, piece], "breaks") },
  "a cut behind a usage so far": {
    ...unknowable,
    answer: () => stream([piece, last({ total_tokens: 1 }), piece], "breaks"),
  },
  "an error behind content": { ...unknowable, answer: () => stream([piece, failure]) },
  "JSON that was cut": {
    ...unknowable,
    answer: () => new Response('{"choices":[', { headers: { "content-type": "application/json" } }),
  },
  "504": { ...unknowable, answer: () => page(504) },
  "a timeout": { ...unknowable, answer: () => new Promise(() => {}) },
  "a client that leaves before the headers": {
    ...unknowable,
    answer: ({ leave }) => {
      leave();
      return new Promise(() => {});
    },
  },
  "a client that leaves in mid-stream": {
    ...unknowable,
    leaves: "at the first piece",
    answer: () => stream([piece], "hangs"),
  },
  // two ledgers: the calls from 1 reserve, the later ones settle or release
  "a ledger that refuses to reserve": { ...free, failing: (call) => call === 2 },
  "a ledger that fails once to settle": {
    ...known,
    failing: (call) => call === 3,
    answer: ({ usage }) => json({ choices: [], usage }),
  },
  "a ledger that never settles": {
    ...unknowable,
    failing: (call) => call > 2,
    answer: ({ usage }) => json({ choices: [], usage }),
  },
};

beforeAll(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterAll(() => void vi.restoreAllMocks());

/** Random requests with faults, each of a user of its own. */
function requestsOf(seed: number, count: number, names: readonly string[]) {
  const random = randomOf(seed);
  return Array.from({ length: count }, (_, at) => {
    const name = names[at < names.length ? at : Math.floor(random() * names.length)] ?? "";
    const n = 1 + Math.floor(random() * 3);
    const maxTokens = 10 + Math.floor(random() * 990);
    const tokens = 1 + Math.floor(random() * n * maxTokens);
    const client = new AbortController();
    return {
      id: `${names.length}-${seed}-${at}`,
      name,
      fault: faults[name] as Fault,
      n,
      maxTokens,
      tokens,
      client,
      /** Calls of its ledgers, and of the gateway. */
      calls: 0,
      asked: 0,
      billed: 0,
    };
  });
}
type FaultyRequest = ReturnType<typeof requestsOf>[number];

/** The answer of a gateway that counts what it bills. */
function answerTo(request: FaultyRequest): Response | Promise<Response> {
  const { fault, tokens, n, client } = request;
  request.asked += 1;
  request.billed += fault.bills * tokens;
  const usage = { prompt_tokens: 1, total_tokens: tokens, completion_tokens_details: null };
  const finish = Array.from({ length: n }, (_, index) => finishOf(index)).join("");
  return fault.answer?.({ usage, finish, leave: () => client.abort() }) ?? json({});
}

function askedBy({ id, fault, n, maxTokens, client }: FaultyRequest): Request {
  const body = { model: "delta-5.3", messages: [{ role: "user", content: id }], n, max_tokens: maxTokens };
  return new Request("https://proxy.example/v1/chat/completions", {
    method: "POST",
    headers: { authorization: id, "content-type": "application/json", "idempotency-key": id },
    body: JSON.stringify({ ...body, stream: true, ...fault.body }),
    signal: client.signal,
  });
}

const options = {
  baseURL: "https://gateway.example",
  apiKey: () => KEY,
  authenticate: ({ headers }: Request) => ({ id: String(headers.get("authorization")) }),
  origins: [],
  models: { "delta-5.3": { max_tokens: 1000 } },
  allowFields: ["n"],
};
const limits = {
  limits: { user: 10_000, session: 10_000 },
  windowMs: 365 * 24 * 60 * 60 * 1000,
  reserveFor: ({ body }: Payable) => Number(body?.["max_tokens"]),
};

/** Runs the requests at the same time. */
async function run(requests: readonly FaultyRequest[]): Promise<void> {
  const waiting: Promise<unknown>[] = [];
  const context: ProxyContext = { waitUntil: (promise) => void waiting.push(promise) };
  const requestOf = (id: string) => requests.find((request) => request.id === id) as FaultyRequest;
  const meter = budget<{ id: string }>({
    // the environment knows whose ledgers these are, so that they can fail for one request alone
    namespace: ({ id }) => ({
      idFromName: (name) => env.BUDGET.idFromName(name),
      get: (object: never) => {
        const request = requestOf(id);
        request.calls += 1;
        if (request.fault.failing?.(request.calls))
          return { fetch: () => Promise.reject(new Error("restarted")) };
        return env.BUDGET.get(object);
      },
    }),
    ...limits,
  });
  const proxy = createProxy<{ id: string }>({
    ...options,
    plugins: [meter],
    timeout: { firstChunkMs: 200 },
    fetch: async (_, { id }) => answerTo(requestOf(id)),
  });
  const ends = requests.map(async (request) => {
    const { id, fault, client } = request;
    if (fault.leaves === "before") client.abort();
    const response = await proxy.fetch(askedBy(request), { id }, context);
    if (fault.leaves !== "at the first piece") return void (await response.text());
    await response.body?.getReader().read();
    client.abort();
  });
  await Promise.all(ends);
  await Promise.all(waiting);
}

/** Runs the requests through a stream log, each three times at once with one idempotency key. */
async function runLogged(requests: readonly FaultyRequest[]): Promise<void> {
  gateway.answers(async (request) => {
    const { messages } = (await request.json()) as { messages: { content: string }[] };
    return answerTo(requests.find(({ id }) => id === messages[0]?.content) as FaultyRequest);
  });
  ledger.over = budget({ ...limits, namespace: () => env.BUDGET });
  const proxy = createProxy({
    ...options,
    plugins: [ledger.meter, streamLog(() => env.PAID_STREAM_LOG)],
  });
  const ends = requests
    .flatMap((request) => [request, request, request])
    .map(async (request) => void (await (await proxy.fetch(askedBy(request), {})).text()));
  await Promise.all(ends);
  ledger.over = undefined;
}

/** Compares what each user was charged with what the gateway billed. */
async function expectHonest(requests: readonly FaultyRequest[]): Promise<void> {
  const meter = budget({ ...limits, namespace: () => env.BUDGET });
  const results = requests.map(async ({ id, name, fault, n, maxTokens, billed, asked }) => {
    const { spent, reserved } = await meter.ledger("user", { env, user: { id } }).read();
    const charged = spent + reserved;
    const most = n * maxTokens * asked;
    const told = `${name}, request ${id}: ${charged} for ${billed}`;
    if (!fault.isUnknowable) expect(charged, told).toBe(billed);
    else expect(charged >= billed && charged <= most, `${told}, at most ${most}`).toBe(true);
    return charged;
  });
  const charges = await Promise.all(results);
  // the requests did get as far as they were meant to
  expect(requests.filter(({ billed }) => billed > 0).length).toBeGreaterThan(10);
  expect(charges.filter((charged) => charged === 0).length).toBeGreaterThan(10);
}

for (const seed of [1, 2, 3])
  test(`case 49 and 62: whatever the gateway, the client and the ledgers do, users pay what it bills (seed ${seed})`, async () => {
    const requests = requestsOf(seed, 45, Object.keys(faults));
    await run(requests);
    await expectHonest(requests);
  });

test("case 51: and so do three requests with one idempotency key, once for all", async () => {
  // a log goes on without its client, its ledgers are not told apart, and it waits for minutes
  const names = Object.keys(faults).filter(
    (name) => !faults[name]?.leaves && !faults[name]?.failing && !/timeout|leaves/.test(name),
  );
  const requests = requestsOf(1, names.length, names);
  await runLogged(requests);
  for (const { asked, name } of requests) expect(asked, name).toBeLessThanOrEqual(1);
  await expectHonest(requests);
});

/** The same numbers from 0 to 1 for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
