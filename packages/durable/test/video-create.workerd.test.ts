import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type ObjectNamespace, videoEvents } from "@sluice/durable";
import { createProxy, type JobEvent } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readEvents } from "../../worker-proxy/test/support/event-stream.js";
import { asked } from "../../worker-proxy/test/support/in-process.js";
import { KEY, read } from "../../worker-proxy/test/support/key.js";
import { ends, gateway, refusal, task } from "./support/durable-gateway.js";

const START = Date.UTC(2040, 0, 1);
const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;
let tasks = 0;
/** Times at which the gateway was asked about a task. */
const polls: number[] = [];

beforeEach(() => {
  // a time that never comes by itself: alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"], now: START });
  vi.spyOn(Math, "random").mockReturnValue(0);
  polls.length = 0;
  gatewaySays(queued);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function gatewaySays(next: () => Response | Promise<Response>): void {
  gateway.answers((request) => {
    if (request.method === "POST") return Response.json({ id: `t-${tasks}`, status: "queued", progress: 0 });
    polls.push(Date.now());
    return next();
  });
}

/** A proxy that watches tasks from their create, and one new task of a user. */
async function create({
  user = "ann",
  watch = env.VIDEO_WATCH,
  namespace = (_: typeof env) => watch,
  onEvent = (_: JobEvent) => {},
} = {}) {
  const id = `t-${++tasks}`;
  const proxy = createProxy<typeof env>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
    origins: [],
    models: ["beta3.0-video"],
    routes: ["videos"],
    secret: () => "a secret of the proxy's own, 32 and more",
    extensions: [videoEvents<typeof env>(namespace as () => ObjectNamespace, { startOn: "create", onEvent })],
    limits: { pollMemoMs: 0 },
    fetch: gateway.answer,
  });
  const body = { model: "beta3.0-video", input: { prompt: "a bird" } };
  const request = asked({ path: "/v1/video/generations", headers: { authorization: user }, body });
  const receipt = await read(await proxy.fetch(request, env));
  const sentId = idIn(receipt.text);
  const object = watch.get(watch.idFromName(`${await hashOf(user)}:${id}`));
  const ask = (path = "", { as = user, method = "GET", signal }: Asked = {}) =>
    proxy.fetch(
      new Request(`https://proxy.example/v1/video/generations/${sentId}${path}`, {
        method,
        headers: { authorization: as },
        ...(signal && { signal }),
      }),
      env,
    );
  const alarmAt = () =>
    runInDurableObject(object, async (_, { storage }) => {
      const at = await storage.getAlarm();
      return at === null ? null : (at - START) / SECOND;
    });
  return {
    receipt,
    sentId,
    object,
    ask,
    alarmAt,
    status: async () => {
      const { data, status } = (await (await ask()).json()) as { data?: { status: string }; status?: string };
      return data?.status ?? status;
    },
    async ring() {
      const at = await alarmAt();
      vi.setSystemTime(Math.max(Date.now(), START + (at ?? 0) * SECOND));
      return runDurableObjectAlarm(object);
    },
  };
}

interface Asked {
  readonly as?: string;
  readonly method?: string;
  readonly signal?: AbortSignal;
}

function idIn(receipt: string): string {
  const { id } = JSON.parse(receipt) as { id: string };
  return id;
}

const queued = () => task("QUEUED", { task_id: `t-${tasks}` });
const done = () => task("SUCCESS", { task_id: `t-${tasks}`, result_url: "https://cdn.example/v.mp4" });

test("a task that no page looks at is polled to its end, and a day later a page gets it without a poll", async () => {
  const { ring, status, alarmAt, ask, sentId } = await create();
  expect(polls).toEqual([]);
  expect(await alarmAt()).toBe(5);
  await ring();
  expect(await alarmAt()).toBe(20);
  await ring();
  gatewaySays(done);
  await ring();
  expect(polls).toHaveLength(3);
  vi.setSystemTime(START + 2 * DAY);
  expect(await status()).toBe("SUCCESS");
  expect(await (await ask()).json()).toMatchObject({ data: { task_id: sentId } });
  const events = readEvents(await ask("/events"));
  expect(await events.nextEvent()).toMatchObject({ event: "task", data: { data: { status: "SUCCESS" } } });
  expect(await events.nextEvent()).toEqual({ event: "end", data: {} });
  expect(polls).toHaveLength(3);
  expect(await alarmAt()).toBe((35 * SECOND + 7 * DAY) / SECOND);
});

test("a page that polls right after the create gets the receipt, and the gateway is not asked", async () => {
  const { status, ask } = await create();
  expect(await status()).toBe("queued");
  expect((await ask()).headers.get("x-sluice-offers")).toBe("video-events, video-watch");
  expect(polls).toEqual([]);
});

test("pages, events, alarms that ring early and evictions never ask twice within 15 s", async () => {
  const { object, ask, status, alarmAt } = await create();
  const tabs: unknown[] = [];
  for (let second = 1; second <= 150; second += 1) {
    vi.setSystemTime(START + second * SECOND);
    if (second % 7 === 0) await status();
    if (second % 40 === 0 && second < 100) await evictDurableObject(object);
    if (second > 100 && second % 20 === 0) tabs.push(await ask("/events"));
    // by its time, and by a platform that calls it again
    if (((await alarmAt()) ?? 0) <= second || second % 11 === 0) await runDurableObjectAlarm(object);
  }
  expect(tabs).toHaveLength(2);
  const pauses = polls.slice(1).map((at, place) => at - (polls[place] ?? 0));
  expect(polls).toHaveLength(10);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(15 * SECOND);
});

test("an operator's interval holds for the first poll, for later ones, and for whatever comes in between", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { ring, ask, status, alarmAt, object } = await create({ watch: env.BRISK_WATCH });
  expect(await alarmAt()).toBe(2);
  for (let count = 0; count < 3; count += 1) await ring();
  vi.setSystemTime(START + 7 * SECOND);
  const tab = await ask("/events");
  expect([await status(), await runDurableObjectAlarm(object)]).toEqual(["QUEUED", true]);
  gatewaySays(() => refusal(503));
  for (let count = 0; count < 3; count += 1) await ring();
  expect(polls.map((at) => (at - START) / SECOND)).toEqual([2, 4, 6, 8, 10, 14]);
  expect(tab.ok).toBe(true);
});

test("a poll that was under way when the object was lost counts, and the next comes 15 s later", async () => {
  const { object, ring, alarmAt, status } = await create();
  gatewaySays(() => Promise.reject(new TypeError("the connection was lost")));
  await ring();
  // as after a loss: the poll is stored, its answer is not
  await runInDurableObject(object, async (_, { storage }) => {
    const stored = (await storage.get("task")) as object;
    await storage.put("task", { ...stored, failures: 0, failure: undefined, nextAt: START });
    await storage.setAlarm(Date.now());
  });
  await evictDurableObject(object);
  await ring();
  expect([polls, await alarmAt()]).toEqual([[START + 5 * SECOND], 20]);
  await ring();
  expect(await status()).toBe("queued");
  expect(polls).toEqual([START + 5 * SECOND, START + 20 * SECOND]);
});

test("an eviction before the first poll loses nothing", async () => {
  const { object, ring, status } = await create();
  await evictDurableObject(object);
  gatewaySays(done);
  expect(await ring()).toBe(true);
  expect(await status()).toBe("SUCCESS");
});

test.each([
  ["an account that is empty", () => refusal(402)],
  ["answers without a task", () => Response.json(null)],
  ["an outage", () => refusal(503)],
])("the watch outlasts %s for an hour", async (_, answer) => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { ring, status } = await create();
  gatewaySays(answer);
  while (Date.now() < START + HOUR) await ring();
  expect(await status()).toBe("queued");
  gatewaySays(done);
  await ring();
  expect(await status()).toBe("SUCCESS");
});

test("a success without a file is polled on, also after an hour of answers without a task", async () => {
  ends.length = 0;
  const { ring } = await create({ watch: env.BRISK_WATCH });
  gatewaySays(() => Response.json(null));
  while (Date.now() < START + HOUR) await ring();
  gatewaySays(() => task("SUCCESS"));
  await ring();
  await ring();
  expect(ends).toEqual([]);
  gatewaySays(done);
  await ring();
  await ring();
  expect(ends).toMatchObject([{ state: "succeeded", task: { data: { result_url: expect.any(String) } } }]);
});

test("a success without a file is polled on, for three more answers", async () => {
  const { ring, status, alarmAt } = await create();
  gatewaySays(() => task("SUCCESS"));
  for (let count = 0; count < 3; count += 1) await ring();
  gatewaySays(done);
  await ring();
  expect(polls).toHaveLength(4);
  expect(await status()).toBe("SUCCESS");
  expect(await alarmAt()).toBeGreaterThan(DAY / SECOND);
});

test("The watch ends after 24 hours, and pages hear so without a poll", async () => {
  const { ring, ask, alarmAt } = await create();
  await ring();
  vi.setSystemTime(START + DAY);
  await ring();
  expect(await alarmAt()).toBe((8 * DAY) / SECOND);
  const before = polls.length;
  expect(await read(await ask())).toMatchObject({ status: 504, error: { code: "watch_timeout" } });
  expect(polls).toHaveLength(before);
});

test.each([
  ["404", () => refusal(404)],
  ["400", () => refusal(400)],
  ["401", () => refusal(401)],
  ["403", () => refusal(403)],
  ["410", () => refusal(410)],
  ["500", () => refusal(500)],
  ["a page", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
  ["another shape", () => Response.json([])],
  ["429 for a day", () => refusal(429, { "retry-after": "86400" })],
])("case 90: one answer of %s ends no watch of a task that was seen, and freezes none", async (_, answer) => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { ring, status } = await create();
  await ring();
  gatewaySays(answer);
  await ring();
  gatewaySays(done);
  await ring();
  expect(Date.now() - START).toBeLessThan(15 * 60 * SECOND);
  expect(await status()).toBe("SUCCESS");
});

/** Answers of a gateway that has trouble, and whether they say that it does not know the task. */
const troubles: readonly (readonly [answer: () => Response | Promise<Response>, isAbsent?: boolean])[] = [
  [() => refusal(404), true],
  [() => refusal(404), true],
  [() => refusal(400)],
  [() => refusal(401)],
  [() => refusal(402)],
  [() => refusal(403)],
  [() => refusal(410)],
  [() => refusal(500)],
  [() => refusal(503, { "retry-after": "86400" })],
  [() => refusal(429, { "retry-after": new Date(START + 40 * DAY).toUTCString() })],
  [() => new Response("<html>", { headers: { "content-type": "text/html" } })],
  [() => Response.json({ code: "db_error" })],
  [() => Response.json([1])],
  [() => Promise.reject(new TypeError("connection lost"))],
  [queued],
  [queued],
];

test("case 90: no order of answers and of what users do loses a film, asks too often, or stops asking", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  for (let seed = 1; seed <= 40; seed += 1) {
    vi.setSystemTime(START);
    polls.length = 0;
    let random = seed;
    const pick = (count: number) => {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((random / 2 ** 32) * count);
    };
    const { object, ring, ask, status } = await create();
    /** The 404s in a row, and the first of them. */
    let absences = 0;
    let absentSince = 0;
    let mayBeAbsent = false;
    let hasEnded = false;
    gatewaySays(async () => {
      const [answer, isAbsent = false] = troubles[pick(troubles.length)] ?? [queued];
      if (answer === queued) absences = 0;
      if (isAbsent) {
        absences += 1;
        if (absences === 1) absentSince = Date.now();
        if (absences >= 5 && Date.now() - absentSince >= 5 * 60 * SECOND) mayBeAbsent = true;
      }
      return answer();
    });
    for (let step = 0; step < 25; step += 1) {
      const action = pick(8);
      if (action === 0) await evictDurableObject(object);
      if (action === 1) vi.setSystemTime(Date.now() + pick(40) * SECOND);
      if (action === 2) await (await ask("", { method: "GET" })).text();
      if (action === 3) {
        const leaving = new AbortController();
        await ask("/events", { signal: leaving.signal });
        leaving.abort();
      }
      const before = Date.now();
      if (!hasEnded) await ring();
      expect(Date.now() - before, `seed ${seed}`).toBeLessThanOrEqual(11 * 60 * SECOND);
      const { error } = await read(await ask());
      hasEnded = error?.code === "task_not_found";
      // the user is told that it is unknown only where the gateway has said so for minutes
      if (hasEnded) expect(mayBeAbsent, `seed ${seed}`).toBe(true);
    }
    const gaps = polls.slice(1).map((at, index) => at - (polls[index] as number));
    expect(Math.min(...gaps), `seed ${seed}`).toBeGreaterThanOrEqual(15 * SECOND);
    gatewaySays(done);
    vi.setSystemTime(Date.now() + 61 * SECOND);
    for (let count = 0; count < 3 && (await status()) !== "SUCCESS"; count += 1) {
      const before = Date.now();
      await ring();
      expect(Date.now() - before, `seed ${seed}`).toBeLessThanOrEqual(11 * 60 * SECOND);
    }
    expect(await status(), `seed ${seed}`).toBe("SUCCESS");
  }
});

test.each([
  ["a page", () => new Response("<h1>404</h1>", { status: 404, headers: { "content-type": "text/html" } })],
  ["nothing", () => new Response(null, { status: 404 })],
  ["words", () => new Response("404 page not found", { status: 404 })],
])("case 157: an hour of 404s with %s says nothing of a task, and its film is told", async (_, answer) => {
  ends.length = 0;
  const { ring, status } = await create({ watch: env.BRISK_WATCH });
  await ring();
  gatewaySays(answer);
  while (Date.now() < START + HOUR) await ring();
  expect(ends).toEqual([]);
  // nor do some of them make a few of the gateway's own more
  gatewaySays(() => refusal(404));
  for (let count = 0; count < 3; count += 1) await ring();
  expect(await status()).toBe("QUEUED");
  gatewaySays(done);
  await ring();
  expect(await status()).toBe("SUCCESS");
  await ring();
  expect(ends).toMatchObject([{ state: "succeeded" }]);
});

test("a task is unknown after five minutes of 404, and is asked for again when its user asks later", async () => {
  const { ring, ask, status } = await create();
  await ring();
  gatewaySays(() => refusal(404));
  for (let count = 0; count < 12; count += 1) await ring();
  expect(Date.now() - START).toBeGreaterThan(5 * 60 * SECOND);
  expect(await read(await ask())).toMatchObject({ status: 404, error: { code: "task_not_found" } });
  const before = polls.length;
  vi.setSystemTime(Date.now() + 61 * SECOND);
  gatewaySays(queued);
  expect(await status()).toBe("QUEUED");
  expect(polls).toHaveLength(before + 1);
  gatewaySays(done);
  await ring();
  expect(await status()).toBe("SUCCESS");
});

test("case 91: a task is told as expired only where the gateway does not know it; its end may still come", async () => {
  ends.length = 0;
  const { ring, status } = await create({ watch: env.BRISK_WATCH });
  await ring();
  vi.setSystemTime(START + DAY);
  await ring();
  await ring();
  expect(ends).toMatchObject([{ state: "unknown" }]);
  vi.setSystemTime(START + DAY + HOUR);
  gatewaySays(done);
  expect(await status()).toBe("SUCCESS");
  await ring();
  expect(ends).toMatchObject([{}, { state: "succeeded" }]);
  // another end is another message: a receiver drops one with an id that it knows
  expect(ends[1]?.id).not.toBe(ends[0]?.id);
});

test("case 91: a task that the gateway has not known for minutes is told as expired", async () => {
  ends.length = 0;
  const { ring } = await create({ watch: env.BRISK_WATCH });
  await ring();
  gatewaySays(() => refusal(404));
  while (ends.length === 0) await ring();
  expect(Date.now() - START).toBeGreaterThan(5 * 60 * SECOND);
  expect(ends).toMatchObject([{ state: "expired", task: { data: { status: "QUEUED" } } }]);
});

test("case 34: a watch is of its user alone", async () => {
  const { ask, ring, receipt } = await create({ user: "dan" });
  gatewaySays(done);
  await ring();
  expect(receipt.status).toBe(200);
  expect((await ask("", { as: "eve" })).status).toBe(404);
  expect((await ask("/events", { as: "eve", method: "DELETE" })).status).toBe(404);
});

test("a task that was made elsewhere is watched from the first poll of a page on", async () => {
  const { object, status, alarmAt } = await create();
  await runInDurableObject(object, async (_, { storage }) => storage.deleteAll());
  await evictDurableObject(object);
  vi.setSystemTime(START + 60 * SECOND);
  expect([await status(), await status()]).toEqual(["QUEUED", "QUEUED"]);
  expect(polls).toHaveLength(1);
  expect(await alarmAt()).toBe(75);
});

test("a create whose watch can't be started is answered all the same, and the log says so", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const onEvent = vi.fn();
  const { receipt } = await create({ namespace: (() => undefined) as never, onEvent });
  expect([receipt.status, receipt.text]).toEqual([200, expect.stringContaining("queued")]);
  expect(log.mock.calls.flat().join()).toContain("could not be started");
  const facts = {
    kind: "watch",
    outcome: "dropped",
    code: "object_unavailable",
    user: "ann",
    taskId: `t-${tasks}`,
  };
  const requestId = receipt.headers.get("x-request-id");
  expect(onEvent.mock.calls).toEqual([[expect.objectContaining({ ...facts, requestId }), env]]);
});
