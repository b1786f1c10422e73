import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { streamLog } from "@sluice/durable";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openRandom, type Random, runsOf, SEED } from "../../worker-proxy/test/support/random.js";
import { gateway, jobs, purse, refusal } from "./support/durable-gateway.js";
import { idOf, objectOf, openProxy, turn } from "./support/streams.js";

const { FUZZED_STREAM_LOG } = env;
const pieceOf = (nth: number) => `data: {"choices":[{"delta":{"content":"(${nth})"}}]}\n\n`;
const end =
  'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"total_tokens":7}}\n\ndata: [DONE]\n\n';
const events = { headers: { "content-type": "text/event-stream" } };

beforeEach(() => {
  silence.stalls = false;
  purse.empty();
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Faults of the gateway: what follows some pieces of an answer, or comes in its place. */
const faults = ["whole", "pauses", "cut", "error", "hangs", "no done", "refused", "unreachable"] as const;

/** Acts of users and of the platform meanwhile. */
const acts = ["repeat", "read", "read on", "leave", "stall", "stop", "lose", "alarm", "wait"] as const;

/** The gateway's silence: while it stalls, no answer goes on. */
const silence = { stalls: false };

/** An answer of the gateway that sends a few pieces, and then ends by a fault, or never. */
function answerWith(random: Random, signal: AbortSignal): Response {
  const fault = random.one(faults);
  const pieces = random.below(5);
  if (fault === "refused") return refusal(429);
  if (fault === "unreachable") throw new Error("no route");
  let nth = 0;
  const pull = async (out: ReadableStreamDefaultController<Uint8Array>) => {
    const send = (text: string) => out.enqueue(new TextEncoder().encode(text));
    // some answers pause for longer than a silence may take, and then go on, or find that they were left
    const pause = fault === "pauses" ? random.below(100) : 3;
    for (let turns = 0; turns < pause && !signal.aborted; turns += 1) await turn();
    while (silence.stalls && !signal.aborted) await turn();
    if (nth < pieces) {
      nth += 1;
      return send(pieceOf(nth));
    }
    while (fault === "hangs" && !signal.aborted) await turn();
    if (fault === "cut" || signal.aborted) return out.error(new Error("connection lost"));
    if (fault === "error") send('data: {"error":{"message":"no"}}\n\n');
    if (fault === "whole" || fault === "pauses") send(end);
    if (fault === "no done") send("data: [DONE]\n\n");
    out.close();
  };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), events);
}

/** Checks that a reader saw each event once and in order, and an end that is true. */
function checkText(text: string, after: number): void {
  const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  expect(ids).toEqual(ids.map((_, nth) => after + 1 + nth));
  const nths = [...text.matchAll(/"content":"\((\d+)\)"/g)].map(([, nth]) => Number(nth));
  expect(nths).toEqual(nths.map((_, place) => after + 1 + place));
  if (text.includes("[DONE]")) expect(text).not.toContain("event: error");
}

test("case 119: no order of faults, silences, readers, repeats, stops and crashes loses an event, lies about an end, or keeps a place or money", async () => {
  for (let run = 0; run < runsOf(25, 0.1); run += 1) {
    const random = openRandom(SEED + run);
    purse.empty();
    const user = `Bearer fuzz-${run}`;
    const headers = { authorization: user };
    const { ask, resume, stop } = openProxy({
      plugins: [purse.meter, streamLog(() => FUZZED_STREAM_LOG)],
    });
    gateway.answers(({ signal }) => answerWith(random, signal));
    const keys = ["one", "two", "three", "four"];
    const ids = new Map<string, string>();
    const readings: Promise<void>[] = [];
    const clients: AbortController[] = [];

    const follow = async (key: string, response: Response, after: number) => {
      const id = response.headers.get("x-stream-id");
      if (id) ids.set(key, id);
      const text = await response.text().catch(() => "");
      if (response.headers.get("content-type") === "text/event-stream") checkText(text, after);
    };
    const begin = (key: string) => {
      const client = new AbortController();
      clients.push(client);
      const asked = ask({ headers: { ...headers, "idempotency-key": key }, signal: client.signal });
      readings.push(asked.then((response) => follow(key, response, 0)).catch(() => {}));
    };
    for (let step = 0; step < 14; step += 1) {
      const key = random.one(keys);
      const id = ids.get(key);
      const act = random.one(acts);
      if (act === "repeat" || !id) begin(key);
      else if (act === "read" || act === "read on") {
        const after = act === "read" ? 0 : random.below(2);
        readings.push(resume(id, after, { headers }).then((one) => follow(key, one, after)));
      } else if (act === "stall") silence.stalls = !silence.stalls;
      else if (act === "leave") random.one(clients).abort();
      else if (act === "stop") await stop(id, { headers });
      else if (act === "alarm") await runDurableObjectAlarm(await objectOf(id, FUZZED_STREAM_LOG, user));
      else if (act === "lose") {
        const abort = (_: unknown, state: object) => (state as { abort(reason: string): void }).abort("lost");
        await runInDurableObject(await objectOf(id, FUZZED_STREAM_LOG, user), abort).catch(() => {});
      }
      for (let turns = random.below(12); turns >= 0; turns -= 1) await turn();
    }
    silence.stalls = false;
    // everybody leaves, and the alarms find what is left
    for (const client of clients) client.abort();
    for (let turns = 0; turns < 30; turns += 1) await turn();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    for (const id of ids.values()) {
      await stop(id, { headers });
      await runDurableObjectAlarm(await objectOf(id, FUZZED_STREAM_LOG, user));
    }
    await expect.poll(() => purse.reserved.size, { message: `run ${run}` }).toBe(0);
    vi.useRealTimers();
    // at rest every place is free again, and each answer was reported once, however often its object was lost
    gateway.answers(() => new Response(pieceOf(1) + end, events));
    for (let nth = 0; nth < 3; nth += 1) {
      await expect.poll(async () => (await ask({ headers })).status, { message: `run ${run}` }).toBe(200);
    }
    for (const id of ids.values()) {
      const ended = jobs.filter((job) => job.id === id && job.outcome !== "dropped");
      // a key that was refused is free for another request
      const answers = ended.filter(({ code }) => code !== "upstream_unreachable" && code !== "rate_limited");
      const requests = new Set(answers.map(({ requestId }) => requestId));
      expect(answers.length, `run ${run}: ${JSON.stringify(answers)}`).toBeGreaterThan(0);
      expect(answers.length, `run ${run}: ${JSON.stringify(answers)}`).toBe(requests.size);
    }
    const spent = jobs.reduce((sum, job) => sum + (job.outcome === "dropped" ? 0 : (job.spent ?? 0)), 0);
    expect(purse.spent.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(spent + 21);
  }
});

test.each([
  ["sends nothing more", () => undefined],
  ["sends comments alone", () => ": still there\n\n"],
])(
  "case 143: a gateway that %s ends an answer, which is read, paid, reported and gives its place back",
  async (_, more) => {
    const headers = { authorization: `Bearer silent-${more()?.length}` };
    const plugins = [streamLog(() => FUZZED_STREAM_LOG)];
    const { ask, resume } = openProxy({ plugins: [purse.meter, ...plugins] });
    gateway.answers(({ signal }) => {
      let isSent = false;
      const pull = async (out: ReadableStreamDefaultController<Uint8Array>) => {
        let text = isSent ? more() : pieceOf(1);
        isSent = true;
        for (; text === undefined && !signal.aborted; text = more()) await turn();
        await turn();
        if (signal.aborted) out.error(new Error("closed"));
        else out.enqueue(new TextEncoder().encode(text));
      };
      return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), events);
    });
    const answers = await Promise.all([ask({ headers }), ask({ headers }), ask({ headers })]);
    for (const answer of answers) {
      const text = await answer.text();
      checkText(text, 0);
      expect(text).toContain("upstream_idle");
      expect(await (await resume(idOf(answer), 1, { headers })).text()).toContain("upstream_idle");
    }
    await expect.poll(() => purse.reserved.size).toBe(0);
    expect(purse.spent).toEqual([100, 100, 100]);
    const ended = jobs.filter(({ id }) => answers.map(idOf).includes(id));
    expect(ended.map(({ outcome, code }) => [outcome, code])).toEqual(
      answers.map(() => ["cut", "upstream_idle"]),
    );
    gateway.answers(() => new Response(pieceOf(1) + end, events));
    await expect.poll(async () => (await ask({ headers })).status).toBe(200);
  },
);
