import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { streamLog } from "@sluice/durable";
import type { ProxyEvent } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import { readerOf } from "../../worker-proxy/test/support/event-stream.js";
import { KEY } from "../../worker-proxy/test/support/key.js";
import { gateway, jobs, purse, refusal } from "./support/durable-gateway.js";
import { workerdTest } from "./support/platform.js";
import { idOf, liveAnswer, objectOf, openProxy, turn, wholeAnswer } from "./support/streams.js";

const { BOUNDED_STREAM_LOG } = env;
const usage = { total_tokens: 7 };
const piece = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
const finish = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
const end = `${finish}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;

let users = 0;
let user = "";
let requests: ProxyEvent[] = [];
let log: MockInstance<typeof console.error>;

beforeEach(() => {
  purse.empty();
  user = `Bearer bounded-${++users}`;
  requests = [];
  log = vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const extension = streamLog<unknown>(() => BOUNDED_STREAM_LOG);

/** A proxy of its own isolate, as far as its own count goes. */
function openIsolate() {
  const own = requests;
  const options = {
    plugins: [purse.meter, extension],
    limits: { maxStreamsPerUser: 3 },
    onEvent: (event: ProxyEvent) => void own.push(event),
  };
  const { ask, resume, stop } = openProxy(options);
  const mine = (headers: Record<string, string> = {}) => ({ headers: { authorization: user, ...headers } });
  return {
    ask: (headers?: Record<string, string>, signal?: AbortSignal) =>
      ask({ ...mine(headers), ...(signal && { signal }) }),
    resume: (id: string, after?: number) => resume(id, after, mine()),
    stop: (id: string) => stop(id, mine()),
  };
}

const objectOfMine = (id: string) => objectOf(id, BOUNDED_STREAM_LOG, user);
const indexOfMine = async () => BOUNDED_STREAM_LOG.get(BOUNDED_STREAM_LOG.idFromName(await hashOf(user)));
const codeOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code;
const settled = () => expect.poll(() => purse.reserved.size).toBe(0);

/** Begins a stream whose client reads an event and leaves. */
async function begun(isolate = openIsolate()): Promise<string> {
  const client = new AbortController();
  const response = await isolate.ask({}, client.signal);
  expect(response.status).toBe(200);
  await readerOf(response).until('"a"');
  client.abort();
  return idOf(response);
}

/** Lets the gateway answer each request with one event, and then with nothing until it is left. */
function openAnswers() {
  let open = 0;
  gateway.answers(({ signal }) => {
    open += 1;
    signal.addEventListener("abort", () => {
      open -= 1;
    });
    return new Response(held(piece, signal), { headers: eventStream });
  });
  return { open: () => open };
}

const eventStream = { "content-type": "text/event-stream" };

/** A body that begins with a text, and then has nothing more until its request is left. */
function held(text: string, signal: AbortSignal): ReadableStream<Uint8Array> {
  let isSent = false;
  return new ReadableStream({
    async pull(controller) {
      if (!isSent) controller.enqueue(new TextEncoder().encode(text));
      isSent = true;
      while (!signal.aborted) await turn();
    },
  });
}

describe("case 114: the streams of a user are counted where their cost is", () => {
  test("a stream that is left counts until it ends, in every isolate, and no other is opened meanwhile", async () => {
    const { open } = openAnswers();
    const ids = [await begun(), await begun(), await begun()];
    for (let tries = 0; tries < 10; tries += 1) {
      const refused = await openIsolate().ask();
      expect(refused.status).toBe(429);
      expect(await codeOf(refused)).toBe("too_many_streams");
    }
    expect(open()).toBe(3);
    expect(gateway.requests).toHaveLength(3);
    expect((await openIsolate().stop(ids[0] as string)).status).toBe(204);
    await expect.poll(async () => open()).toBe(2);
    await expect.poll(async () => (await openIsolate().ask()).status).toBe(200);
  });

  test("a repeat with a key, and a stream that is read again, take no place", async () => {
    openAnswers();
    const key = { "idempotency-key": "one" };
    const { ask, resume } = openIsolate();
    const id = idOf(await ask(key));
    await begun();
    await begun();
    for (const answer of [await ask(key), await ask(key), await resume(id), await resume(id)])
      expect(answer.status).toBe(200);
    expect(gateway.requests).toHaveLength(3);
    expect((await ask()).status).toBe(429);
  });

  test("a stream without a reader gives its place back when it is stopped as an orphan", async () => {
    const { open } = openAnswers();
    const ids = [await begun(), await begun(), await begun()];
    expect((await openIsolate().ask()).status).toBe(429);
    for (let turns = 0; turns < 20; turns += 1) await turn();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    for (const id of ids) await runDurableObjectAlarm(await objectOfMine(id));
    expect(open()).toBe(0);
    await settled();
    await begun();
    expect(jobs.map(({ outcome, code }) => [outcome, code])).toEqual([
      ["refused", "too_many_streams"],
      ...ids.map(() => ["orphaned", "stream_stopped"]),
    ]);
  });

  test("a request that the gateway refuses keeps no place", async () => {
    gateway.answers(() => refusal(429));
    for (let tries = 0; tries < 5; tries += 1)
      expect(await codeOf(await openIsolate().ask())).not.toBe("too_many_streams");
    expect(purse.reserved.size).toBe(0);
    openAnswers();
    await begun();
  });

  test("a user who never reads has a few kept answers, and the deletion of an older one is an event", async () => {
    wholeAnswer(piece + end);
    const ids: string[] = [];
    for (let nth = 0; nth < 5; nth += 1) {
      const response = await openIsolate().ask();
      await response.text();
      ids.push(idOf(response));
      await settled();
      await expect.poll(() => jobs.filter(({ outcome }) => outcome === "complete").length).toBe(nth + 1);
    }
    await expect.poll(() => jobs.filter(({ outcome }) => outcome === "dropped").length).toBe(2);
    const dropped = jobs.filter(({ outcome }) => outcome === "dropped");
    expect(dropped.map(({ id }) => id).sort()).toEqual(ids.slice(0, 2).sort());
    for (const [nth, id] of ids.entries())
      await expect
        .poll(async () => {
          const object = await objectOfMine(id);
          await runDurableObjectAlarm(object);
          return (await openIsolate().resume(id)).status;
        })
        .toBe(nth < 2 ? 404 : 200);
  });
});

describe("case 115: an answer that is lost with its object", () => {
  workerdTest("is settled and reported by the restarted object, and gives its place back", async () => {
    openAnswers();
    const ids = [await begun(), await begun(), await begun()];
    expect(purse.reserved.size).toBe(3);
    for (const id of ids) await lost(await objectOfMine(id));
    for (const id of ids) await runDurableObjectAlarm(await objectOfMine(id));
    await settled();
    expect(purse.spent).toEqual([100, 100, 100]);
    expect(jobs.map(({ id }) => id).sort()).toEqual([...ids].sort());
    for (const job of jobs)
      expect(job).toMatchObject({
        kind: "answer",
        outcome: "lost",
        code: "stream_interrupted",
        user,
        model: "delta-5.3",
        reserved: 100,
        spent: 100,
      });
    await begun();
    expect(log.mock.calls.join()).toContain("was lost with its object");
  });

  test("is settled later where the meter fails at first, and reported once", async () => {
    wholeAnswer(piece + end);
    purse.fails = true;
    const response = await openIsolate().ask();
    await response.text();
    const object = await objectOfMine(idOf(response));
    await turn();
    await runDurableObjectAlarm(object);
    expect(purse.reserved.size).toBe(1);
    purse.fails = false;
    await runDurableObjectAlarm(object);
    expect([purse.reserved.size, purse.spent]).toEqual([0, [7]]);
    expect(jobs).toHaveLength(1);
    expect(await (await openIsolate().resume(idOf(response))).text()).toContain("[DONE]");
  });
});

describe("case 116: each answer is one event, and its usage is in no other", () => {
  test("also where its request is repeated and it is read again", async () => {
    wholeAnswer(piece + end);
    const { ask, resume } = openIsolate();
    const key = { "idempotency-key": "once" };
    const first = await ask(key);
    await first.text();
    const id = idOf(first);
    await (await ask(key)).text();
    await (await resume(id, 1)).text();
    await expect.poll(() => requests.length).toBe(3);
    expect(requests.map(({ streamId, replayed, outcome }) => [streamId, replayed, outcome])).toEqual([
      [id, undefined, "complete"],
      [id, true, "complete"],
      [id, true, "complete"],
    ]);
    for (const event of requests) {
      expect(event.usage).toBeUndefined();
      expect(event.spent).toBeUndefined();
    }
    expect(jobs).toHaveLength(1);
    const bytes = new TextEncoder().encode(piece + end).byteLength;
    expect(jobs[0]).toMatchObject({
      kind: "answer",
      id,
      outcome: "complete",
      user,
      model: "delta-5.3",
      usage,
      reserved: 100,
      spent: 7,
      bytes,
      requestId: requests[0]?.requestId,
      upstreamStatus: 200,
    });
    expect(jobs[0]?.durationMs).toBeGreaterThanOrEqual(0);
  });

  test.each([
    ["cut", "upstream_cut", (answer: ReturnType<typeof liveAnswer>) => answer.cut()],
    [
      "failed",
      "upstream_error",
      (answer: ReturnType<typeof liveAnswer>) => answer.send('data: {"error":{"message":"no"}}\n\n'),
    ],
  ] as const)("with the code that the client was sent: %s", async (outcome, code, act) => {
    const answer = liveAnswer();
    const response = await openIsolate().ask();
    answer.send(piece);
    const reader = readerOf(response);
    await reader.until('"a"');
    act(answer);
    await reader.until("never");
    await expect.poll(() => requests.length).toBe(1);
    expect(requests[0]).toMatchObject({ outcome: "cut", code });
    expect(jobs).toMatchObject([{ outcome, code, spent: 100 }]);
  });

  test("An end without a finish reason is unconfirmed, and the gateway's refusal is an event, too", async () => {
    wholeAnswer(`${piece}data: [DONE]\n\n`);
    await (await openIsolate().ask()).text();
    gateway.answers(() => refusal(400));
    await (await openIsolate().ask()).text();
    await expect.poll(() => jobs.length).toBe(2);
    expect(jobs.map(({ outcome, spent, upstreamStatus }) => [outcome, spent, upstreamStatus])).toEqual([
      ["unconfirmed", 100, 200],
      ["refused", 0, 400],
    ]);
  });

  test("a client that leaves is an event of the request, and the answer's own follows", async () => {
    const answer = liveAnswer();
    const client = new AbortController();
    const response = await openIsolate().ask({}, client.signal);
    answer.send(piece);
    await readerOf(response).until('"a"');
    client.abort();
    await expect.poll(() => requests.length).toBe(1);
    expect(requests[0]).toMatchObject({ outcome: "left", streamId: idOf(response) });
    expect(jobs).toEqual([]);
    answer.send(end);
    answer.end();
    await expect.poll(() => jobs.length).toBe(1);
    expect(jobs[0]).toMatchObject({ outcome: "complete", usage, spent: 7 });
  });
});

test("the event of a request that the proxy pays itself has its amounts, and the number of its attempts", async () => {
  const seen: ProxyEvent[] = [];
  gateway.answers(({ headers }) =>
    headers.get("authorization") === `Bearer ${KEY}`
      ? new Response(piece + end, { headers: { "content-type": "text/event-stream" } })
      : refusal(401),
  );
  const { ask } = openProxy({
    apiKey: () => ["sk-withdrawn-0123456789", KEY],
    fetch: (request) => gateway.answer(request),
    plugins: [purse.meter],
    onEvent: (event) => void seen.push(event),
  });
  await (await ask()).text();
  await expect.poll(() => seen.length).toBe(1);
  expect(seen[0]).toMatchObject({ outcome: "complete", usage, reserved: 100, spent: 7, attempts: 2 });
  expect(seen[0]?.streamId).toBeUndefined();
});

describe("case 117: all answers of a user", () => {
  test("are exported, and deleted with those that still run", async () => {
    wholeAnswer(piece + end);
    const whole = await openIsolate().ask();
    await whole.text();
    await settled();
    const { open } = openAnswers();
    const running = await begun();
    const { userData } = extension as Required<typeof extension>;
    const ids = [idOf(whole), running].sort();
    await expect
      .poll(async () =>
        ((await userData.exportUser({}, user)) as { id: string }[]).map(({ id }) => id).sort(),
      )
      .toEqual(ids);
    const exported = (await userData.exportUser({}, user)) as {
      id: string;
      state: string;
      events: string;
    }[];
    expect(exported.find(({ id }) => id === idOf(whole))).toMatchObject({
      state: "done",
      events: expect.stringContaining("[DONE]"),
    });
    await userData.eraseUser({}, user);
    expect(open()).toBe(0);
    expect(purse.reserved.size).toBe(0);
    expect(jobs.at(-1)).toMatchObject({ id: running, outcome: "stopped" });
    expect(await userData.exportUser({}, user)).toEqual([]);
    for (const object of [await indexOfMine(), ...(await Promise.all(ids.map(objectOfMine)))])
      expect(
        await runInDurableObject(object, (_, { storage }) =>
          storage.sql
            .exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '%cf%' AND name NOT LIKE 'sqlite%'")
            .toArray(),
        ),
      ).toEqual([]);
    for (const id of ids) expect((await openIsolate().resume(id)).status).toBe(404);
    await userData.eraseUser({}, user);
    await begun();
  });

  /** Answers that a user is erased in the middle of, and the text that a client has read by then. */
  const middles: Record<
    string,
    readonly [answer: (signal: AbortSignal) => Response | Promise<Response>, read?: string]
  > = {
    "before the gateway has answered": [
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    ],
    "in JSON of which the half is there": [
      (signal) =>
        new Response(held('{"choices":[', signal), { headers: { "content-type": "application/json" } }),
    ],
    "in a stream that is read": [
      (signal) => new Response(held(piece, signal), { headers: eventStream }),
      '"a"',
    ],
    "in a stream behind its finish reason": [
      (signal) => new Response(held(piece + finish, signal), { headers: eventStream }),
      "finish_reason",
    ],
  };

  test.each(Object.entries(middles))(
    "An answer whose user is erased %s has one event",
    async (_, [answer, read]) => {
      gateway.answers(({ signal }) => answer(signal));
      const before = jobs.length;
      const asking = openIsolate().ask();
      if (read !== undefined) await readerOf(await asking).until(read);
      else await expect.poll(() => gateway.requests.length).toBe(1);
      const { userData } = extension as Required<typeof extension>;
      await userData.eraseUser({}, user);
      await (await asking).body?.cancel().catch(() => {});
      expect(jobs.slice(before)).toMatchObject([
        { kind: "answer", user, outcome: "stopped", code: "stream_stopped" },
      ]);
      expect(purse.reserved.size).toBe(0);
      expect(gateway.requests[0]?.signal.aborted).toBe(true);
    },
  );

  test("The answers of another user stay", async () => {
    wholeAnswer(piece + end);
    const response = await openIsolate().ask();
    await response.text();
    await settled();
    await (extension as Required<typeof extension>).userData.eraseUser({}, "Bearer somebody-else");
    expect((await openIsolate().resume(idOf(response))).status).toBe(200);
  });
});

workerdTest(
  "a stream whose rows the version before wrote is read, and an open one ends as interrupted",
  async () => {
    for (const [id, state] of [
      ["a".repeat(32), "done"],
      ["b".repeat(32), "open"],
    ] as const) {
      const object = await objectOfMine(id);
      await runInDurableObject(object, (_, { storage }) => {
        const { sql } = storage;
        sql.exec("CREATE TABLE stream (state TEXT, asked TEXT, whole INTEGER)");
        sql.exec("CREATE TABLE events (seq INTEGER PRIMARY KEY, bytes BLOB)");
        sql.exec("INSERT INTO stream VALUES (?, 'digest', 1)", state);
        const bytes = new TextEncoder().encode(`id: 1\n${piece}id: 2\n${finish}`);
        sql.exec("INSERT INTO events VALUES (2, ?)", bytes);
      });
      await evictDurableObject(object);
      const text = await (await openIsolate().resume(id, 1)).text();
      expect(text.startsWith(`id: 2\n${finish}`)).toBe(true);
      expect(text.includes("stream_interrupted")).toBe(state === "open");
      expect((await openIsolate().resume(id, 2)).status).toBe(state === "open" ? 200 : 204);
    }
    expect(jobs).toEqual([]);
  },
);

/** Ends an object as a crash does. */
async function lost(object: Awaited<ReturnType<typeof objectOfMine>>): Promise<void> {
  const abort = (_: unknown, state: object) => (state as { abort(reason: string): void }).abort("lost");
  await runInDurableObject(object, abort).catch(() => {});
}
