import type { JobEvent } from "@sluice/worker-proxy";
import { chat as chatRoutes } from "@sluice/worker-proxy";
import { expect } from "vitest";
import { KEY } from "../../../worker-proxy/test/support/key.js";
import type { Random } from "../../../worker-proxy/test/support/random.js";

/*
 * Random orders of requests, faults and lost processes for the stored streams of one user, on any host.
 */

/** Maximum number of open streams of a user. */
const MAX_STREAMS = 3;
/** Steps of one order. */
const STEPS = 16;
/** Longest silence of the gateway within a stream, in milliseconds. */
const SILENCE_MS = 60;
const KEYS = ["one", "two", "three", "four"];
const ACTS = ["repeat", "repeat", "read", "read on", "leave", "stop", "stall", "lose"] as const;
const FAULTS = ["whole", "whole", "cut", "error", "no done", "refused", "unreachable", "hangs", "pauses"];
const EVENTS = { "content-type": "text/event-stream" };
const END = `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"total_tokens":7}}\n\ndata: [DONE]\n\n`;

/** Options of the proxy. Its user is the text in `authorization`. */
export const orderOptions = {
  baseURL: "https://gateway.example",
  apiKey: () => KEY,
  authenticate: ({ headers }: Request) => ({ id: headers.get("authorization") ?? "" }),
  origins: [],
  models: ["delta-5.3"],
  routes: [chatRoutes] as const,
  limits: { maxStreamsPerUser: MAX_STREAMS },
  timeout: { chunkMs: SILENCE_MS },
};

/** Where an order happens. */
export interface OrderEnvironment {
  readonly user: string;
  /** The events of jobs, of all processes. */
  readonly jobs: readonly JobEvent[];
  send(request: Request): Promise<Response>;
  /** Ends the process that runs the user's streams, and makes its jobs look silent for so long that others take them over. */
  lose(): Promise<void>;
  /** Advances the clock until timers settle the streams that no client reads. */
  passTime(): Promise<void>;
}

/** The amount that each stream reserves. */
export const RESERVED = 100;

const rest = (ms = 1) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const makePiece = (nth: number) => `data: {"choices":[{"delta":{"content":"(${nth})"}}]}\n\n`;

/** Creates a gateway with random faults. `stalls` pauses all streams, and `isCalm` ends the faults. */
export function openOrderGateway(random: Random) {
  const opened = { stalls: false, streams: new Map<string, number>(), isCalm: false, respond };
  return opened;

  async function respond(request: Request): Promise<Response> {
    const { signal } = request;
    const { messages } = (await request.json()) as { messages: [{ content: string }] };
    const fault = opened.isCalm ? "whole" : random.one(FAULTS);
    const pieces = random.below(5);
    if (fault === "refused") return Response.json({ error: { message: "no" } }, { status: 429 });
    if (fault === "unreachable") throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
    const [{ content }] = messages;
    opened.streams.set(content, (opened.streams.get(content) ?? 0) + 1);
    let nth = 0;
    const pull = async (out: ReadableStreamDefaultController<Uint8Array>) => {
      const send = (text: string) => out.enqueue(new TextEncoder().encode(text));
      // at times longer than the proxy waits
      if (fault === "pauses") await rest(random.below(2 * SILENCE_MS));
      else await rest();
      while ((opened.stalls || (fault === "hangs" && nth === pieces)) && !signal.aborted) await rest();
      if (signal.aborted) return out.error(new Error("closed"));
      nth += 1;
      if (nth <= pieces) return send(makePiece(nth));
      if (fault === "cut") return out.error(new Error("connection lost"));
      if (fault === "error") send('data: {"error":{"message":"no"}}\n\n');
      else send(fault === "no done" ? "data: [DONE]\n\n" : END);
      out.close();
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers: EVENTS });
  }
}

/** Checks that a reader saw each event once and in order, and no error in a stream that ended with `[DONE]`. */
function checkText(text: string, after: number): void {
  const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  expect(ids).toEqual(ids.map((_, nth) => after + 1 + nth));
  const pieces = [...text.matchAll(/"content":"\((\d+)\)"/g)].map(([, nth]) => Number(nth));
  expect(pieces).toEqual(pieces.map((_, nth) => after + 1 + nth));
  if (text.includes("[DONE]")) expect(text).not.toContain("event: error");
}

/** Runs one random order, and checks the money and the stored streams after its end. */
export async function runOrder(
  random: Random,
  gateway: ReturnType<typeof openOrderGateway>,
  environment: OrderEnvironment,
): Promise<void> {
  const ids = new Map<string, string>();
  const failures: unknown[] = [];
  let clients: AbortController[] = [];
  let readings: Promise<void>[] = [];

  const read = (path: string, after: number, key?: string) => {
    const client = new AbortController();
    clients.push(client);
    const follow = async () => {
      const response = await send(path, { key, after, signal: client.signal });
      const id = response.headers.get("x-stream-id");
      if (id && key) ids.set(key, id);
      const text = await response.text().catch(() => "");
      if (response.headers.get("content-type") === "text/event-stream") checkText(text, after);
    };
    readings.push(follow().catch((error) => void (client.signal.aborted || failures.push(error))));
  };
  for (let step = 0; step < STEPS; step += 1) {
    const key = random.one(KEYS);
    const id = ids.get(key);
    const act = random.one(ACTS);
    if (act === "repeat" || !id) read("/v1/chat/completions", 0, key);
    else if (act === "read") read(`/v1/chat/streams/${id}`, 0);
    else if (act === "read on") read(`/v1/chat/streams/${id}`, random.below(2));
    else if (act === "stall") gateway.stalls = !gateway.stalls;
    else if (act === "leave") random.one(clients)?.abort();
    else if (act === "stop") await send(`/v1/chat/streams/${id}`, { method: "DELETE" });
    else {
      // the connections of a process end with it
      for (const client of clients) client.abort();
      clients = [];
      readings = [];
      await environment.lose();
    }
    await rest(random.below(12));
  }
  gateway.stalls = false;
  await Promise.all(readings);
  for (const id of ids.values()) await send(`/v1/chat/streams/${id}`, { method: "DELETE" });
  expect(failures).toEqual([]);
  await checkRest(gateway, environment, ids);

  async function checkRest(
    { streams }: typeof gateway,
    { jobs, user }: OrderEnvironment,
    streamIds: ReadonlyMap<string, string>,
  ): Promise<void> {
    const readBudget = async () => {
      const { budgets } = (await (await send("/v1/budget", {})).json()) as {
        budgets: [{ reserved: number; spent: number }];
      };
      return budgets[0];
    };
    await environment.passTime();
    await expect.poll(async () => (await readBudget()).reserved).toBe(0);
    // a crash may lose events of jobs, but no charge; a lost stream reports its whole reservation, not what it cost
    const own = jobs.filter((job) => job.userId === user && job.outcome !== "lost");
    const { spent } = await readBudget();
    expect(spent).toBeGreaterThanOrEqual(own.reduce((sum, job) => sum + (job.spent ?? 0), 0));
    expect(spent).toBeLessThanOrEqual(RESERVED * KEYS.length);
    // one call of the gateway for each key
    for (const [key, times] of streams) expect([key, times]).toEqual([key, 1]);
    for (const [key, id] of streamIds) {
      const path = `/v1/chat/streams/${id}`;
      const [one, other] = [await (await send(path, {})).text(), await (await send(path, {})).text()];
      expect([key, one]).toEqual([key, other]);
      expect(one).toMatch(/\[DONE\]|"error":/);
      const billed = jobs.filter((job) => job.id === id && (job.spent ?? 0) > 0);
      expect([key, billed.length <= 1]).toEqual([key, true]);
    }
    // all slots for open streams are free again
    gateway.isCalm = true;
    const more = ["five", "six", "seven"].map((key) => send("/v1/chat/completions", { key }));
    const responses = await Promise.all(more);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const response of responses) await response.text();
  }

  interface SendInit {
    readonly key?: string | undefined;
    readonly after?: number;
    readonly method?: string;
    readonly signal?: AbortSignal;
  }

  function send(path: string, { key, after, method, signal }: SendInit): Promise<Response> {
    const isPost = path.endsWith("/completions");
    const messages = [{ role: "user", content: key }];
    const request = new Request(`https://proxy.example${path}`, {
      method: method ?? (isPost ? "POST" : "GET"),
      headers: {
        authorization: environment.user,
        ...(isPost && { "content-type": "application/json", "idempotency-key": `${key}` }),
        ...(after !== undefined && !isPost && { "last-event-id": String(after) }),
      },
      ...(isPost && { body: JSON.stringify({ model: "delta-5.3", stream: true, messages }) }),
      ...(signal && { signal }),
    });
    return environment.send(request);
  }
}
