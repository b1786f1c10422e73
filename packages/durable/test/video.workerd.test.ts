import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readEvents } from "../../worker-proxy/test/support/event-stream.js";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { expectNoKey, KEY } from "../../worker-proxy/test/support/key.js";
import { gateway, refusal, task } from "./support/durable-gateway.js";
import { workerdTest } from "./support/platform.js";

expectLog(
  "502 upstream_redirect",
  "502 upstream_error",
  "502 upstream_unreachable",
  "502 upstream_cut",
  "ends without a known result",
  "502 upstream_type",
  "502 upstream_auth",
  "500 misconfigured",
);

const START = Date.UTC(2040, 0, 1);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
let tests = 0;
/** All tabs: one that nothing holds any more is collected, and counts as closed. */
const open: unknown[] = [];

beforeEach(() => {
  // a time that never comes by itself: alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"], now: START });
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  gateway.answers(() => task("QUEUED"));
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** The object that watches a new task. */
function openWatch() {
  const { VIDEO_WATCH } = env;
  const object = VIDEO_WATCH.get(VIDEO_WATCH.idFromName(`user:${++tests}`));
  return {
    object,
    async subscribe({ lastEventId, signal, as = "t-1.signed" }: Subscription = {}) {
      const response = await object.fetch(`https://video-watch/t-1?as=${as}`, {
        headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
        ...(signal && { signal }),
      });
      const tab = readEvents(response);
      open.push(tab);
      return tab;
    },
    /** Time of the alarm, in seconds from the start; null for none. */
    alarmAt: () =>
      runInDurableObject(object, async (_, { storage }) => {
        const at = await storage.getAlarm();
        return at === null ? null : (at - START) / SECOND;
      }),
    /** Lets the time of the next alarm come. */
    async ring() {
      const at = await this.alarmAt();
      vi.setSystemTime(Math.max(Date.now(), START + (at ?? 0) * SECOND));
      return runDurableObjectAlarm(object);
    },
    stored: () =>
      runInDurableObject(object, async (_, { storage }) => {
        const rows = [...(await storage.list())];
        expectNoKey(JSON.stringify(rows));
        return rows.length;
      }),
  };
}
interface Subscription {
  lastEventId?: string;
  signal?: AbortSignal;
  as?: string;
}

describe("one poller for all tabs", () => {
  test("two tabs cost one question, and both hear each change once", async () => {
    const watch = openWatch();
    const [one, two] = [await watch.subscribe(), await watch.subscribe()];
    await watch.ring();
    const first = await one.nextEvent();
    expect(first).toMatchObject({ event: "task", data: { data: { status: "QUEUED" } } });
    expect(await two.nextEvent()).toEqual(first);
    await watch.ring(); // nothing new
    gateway.next = () => task("IN_PROGRESS", { progress: "10%" });
    await watch.ring();
    expect(gateway.requests).toHaveLength(3);
    expect(await one.nextEvent()).toMatchObject({ id: `${Number(first.id) + 1}`, event: "task" });
    expect(await two.nextEvent()).toMatchObject({ data: { data: { status: "IN_PROGRESS" } } });
  });

  test("sends the key to a constant address, and follows no redirect", async () => {
    const watch = openWatch();
    const tab = await watch.subscribe();
    gateway.next = () => new Response(null, { status: 307, headers: { location: "https://evil.example" } });
    for (let count = 0; count < 4; count += 1) await watch.ring();
    expect(gateway.requests).toHaveLength(4);
    expect(gateway.requests[0]).toMatchObject({
      method: "GET",
      url: "https://gateway.example/v1/video/generations/t-1",
      redirect: "manual",
    });
    expect(gateway.requests[0]?.headers.get("authorization")).toBe(`Bearer ${KEY}`);
    expect(await tab.nextEvent()).toMatchObject({
      event: "error",
      data: { error: { code: "upstream_redirect" } },
    });
  });

  test("sends the client's id of the task, and keeps the gateway's", async () => {
    const watch = openWatch();
    const tab = await watch.subscribe({ as: "t-1.for-me" });
    gateway.next = () => task("QUEUED", { id: "t-1", prompt: "t-10", data: { task_id: "t-1" } });
    await watch.ring();
    expect((await tab.nextEvent()).data.data).toEqual({
      task_id: "t-1.for-me",
      id: "t-1.for-me",
      prompt: "t-10",
      data: { task_id: "t-1.for-me" },
      status: "QUEUED",
    });
  });

  test("sends no event where only a trace id changed", async () => {
    const watch = openWatch();
    const tab = await watch.subscribe();
    for (const id of ["r-1", "r-2"]) {
      gateway.next = () => task("QUEUED", { request_id: id });
      await watch.ring();
    }
    gateway.next = () => task("IN_PROGRESS", { request_id: "r-3" });
    await watch.ring();
    await tab.nextEvent();
    expect((await tab.nextEvent()).data.data.status).toBe("IN_PROGRESS");
  });

  test("a seventeenth subscriber is refused, and can poll", async () => {
    const { object } = openWatch();
    const tabs = Array.from({ length: 17 }, () => object.fetch("https://video-watch/t-1?as=t-1"));
    const refused = (await Promise.all(tabs)).filter(({ status }) => status !== 200);
    expect(refused.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual([[429, "60"]]);
    expect(await refused[0]?.json()).toMatchObject({ error: { code: "too_many_readers" } });
  });

  test("a tab that has gone before it was heard is not listened for", async () => {
    const { object } = openWatch();
    await runInDurableObject(object, async (instance) => {
      const gone = new Request("https://video-watch/t-1?as=t-1", { signal: AbortSignal.abort() });
      await instance.fetch(gone);
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a comment keeps idle streams open, every 25 seconds, also of who comes later", async () => {
    const watch = openWatch();
    for (let visit = 0; visit < 2; visit += 1) {
      const leaving = new AbortController();
      const tab = await watch.subscribe({ signal: leaving.signal });
      expect(await tab.next()).toEqual({ comment: true });
      await runInDurableObject(watch.object, () => void vi.advanceTimersByTime(25 * SECOND));
      expect(await tab.next()).toEqual({ comment: true });
      await leave(watch, leaving);
    }
  });
});

describe("the pauses", () => {
  test("grow from 5 to 15 seconds", async () => {
    const watch = openWatch();
    await watch.subscribe();
    const rings: (number | null)[] = [];
    for (let count = 0; count < 6; count += 1) {
      rings.push(await watch.alarmAt());
      await watch.ring();
    }
    expect(rings).toEqual([0, 5, 12.5, 23.75, 38.75, 53.75]);
  });

  test.each([
    [0, 4.5],
    [0.999_999, 5.5],
  ])("move by a tenth: with %d the second question is at %d s", async (random, seconds) => {
    vi.spyOn(Math, "random").mockReturnValue(random);
    const watch = openWatch();
    await watch.subscribe();
    await watch.ring();
    expect(await watch.alarmAt()).toBe(seconds);
  });

  test("honour Retry-After", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const watch = openWatch();
    const leaving = new AbortController();
    await watch.subscribe({ signal: leaving.signal });
    gateway.next = () => refusal(429, { "retry-after": "90" });
    await watch.ring();
    expect(await watch.alarmAt()).toBe(90);
    await leave(watch, leaving);
    const tab = await watch.subscribe(); // nor does a new subscriber hurry it
    expect(await watch.alarmAt()).toBe(90);
    gateway.next = () => task("SUCCESS");
    await watch.ring();
    expect((await tab.nextEvent()).data.data.status).toBe("SUCCESS");
  });

  test.each([
    ["500", () => refusal(500)],
    ["429", () => refusal(429)],
    ["408", () => refusal(408)],
    ["a failed connection", () => Promise.reject(new TypeError(`no route, ${KEY}`))],
    ["a body that breaks off", () => broken()],
  ])("back off after %s, which never ends a watch", async (_, answer) => {
    const watch = openWatch();
    const tab = await watch.subscribe();
    gateway.next = answer;
    const rings: (number | null)[] = [];
    for (let count = 0; count < 8; count += 1) {
      await watch.ring();
      rings.push(await watch.alarmAt());
    }
    expect(rings.slice(0, 3)).toEqual([5, 15, 35]);
    expect((rings[7] ?? 0) - (rings[6] ?? 0)).toBe(120);
    gateway.next = () => task("FAILURE", { fail_reason: "policy" });
    await watch.ring();
    expect(await tab.nextEvent()).toMatchObject({ data: { data: { fail_reason: "policy" } } });
    expect(await tab.nextEvent()).toEqual({ event: "end", data: {} });
  });

  test("take Retry-After as a date too", async () => {
    const watch = openWatch();
    await watch.subscribe();
    gateway.next = () => refusal(429, { "retry-after": new Date(START + 90 * SECOND).toUTCString() });
    await watch.ring();
    expect(await watch.alarmAt()).toBe(100); // and a tenth, for the jitter
  });

  test("are short again after an answer, and unreadable ones are counted anew", async () => {
    const watch = openWatch();
    const tab = await watch.subscribe();
    for (const answer of [() => Response.json(null), () => task("QUEUED"), () => Response.json(null)]) {
      gateway.next = answer;
      for (let count = 0; count < 3; count += 1) await watch.ring();
    }
    gateway.next = () => refusal(500);
    await watch.ring();
    gateway.next = () => task("IN_PROGRESS");
    await watch.ring();
    expect((await watch.alarmAt()) ?? 0).toBe((Date.now() - START) / SECOND + 15);
    await tab.nextEvent();
    expect((await tab.nextEvent()).data.data.status).toBe("IN_PROGRESS");
  });

  test("stay as they are when another tab comes", async () => {
    const watch = openWatch();
    await watch.subscribe();
    for (let count = 0; count < 4; count += 1) await watch.ring();
    const before = await watch.alarmAt();
    vi.setSystemTime(Date.now() + 2 * SECOND);
    await watch.subscribe();
    expect(await watch.alarmAt()).toBe(before);
  });

  test("are a minute without a reader, until there is one again", async () => {
    const watch = openWatch();
    const leaving = new AbortController();
    await watch.subscribe({ signal: leaving.signal });
    await watch.ring();
    await leave(watch, leaving);
    const pauses: number[] = [];
    let last = 0;
    while (last < 7 * 60 && pauses.length < 100) {
      await watch.ring();
      const at = (await watch.alarmAt()) ?? 0;
      pauses.push(at - last);
      last = at;
    }
    expect(pauses).toContain(15);
    expect(pauses.at(-1)).toBe(60);
    const tab = await watch.subscribe();
    expect(await watch.alarmAt()).toBe((Date.now() - START) / SECOND + 5);
    expect((await tab.nextEvent()).event).toBe("task"); // what is known comes at once
  });
});

test("a reader that comes during a poll gets its answer, and the next polls come sooner", async () => {
  const watch = openWatch();
  await after(watch, () => task("QUEUED"));
  vi.setSystemTime(START + 10 * MINUTE);
  let answer!: () => void;
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  gateway.next = async () => {
    await held;
    return task("IN_PROGRESS");
  };
  const ringing = watch.ring();
  await expect.poll(() => gateway.requests).toHaveLength(2);
  const tab = await watch.subscribe();
  answer();
  await ringing;
  expect((await tab.nextEvent()).data.data.status).toBe("QUEUED");
  expect((await tab.nextEvent()).data.data.status).toBe("IN_PROGRESS");
  expect(await watch.alarmAt()).toBe((Date.now() - START) / SECOND + 7.5);
});

describe("coming back", () => {
  test("A page that comes back with the last event's id gets nothing twice, and without it the newest at once", async () => {
    const watch = openWatch();
    const { id } = await after(watch, () => task("QUEUED"));
    const [back, anew] = [await watch.subscribe({ lastEventId: `${id}` }), await watch.subscribe()];
    expect(await anew.nextEvent()).toMatchObject({ id });
    gateway.next = () => task("IN_PROGRESS");
    await watch.ring();
    expect(await back.nextEvent()).toMatchObject({ id: `${Number(id) + 1}` });
  });

  test("A page that comes back after the end gets the final state, or only the end if it has seen it", async () => {
    const watch = openWatch();
    const { id } = await after(watch, () => task("SUCCESS", { result_url: "https://cdn.example/v.mp4" }));
    const late = await watch.subscribe();
    expect(await late.nextEvent()).toMatchObject({ event: "task", id });
    expect(await late.nextEvent()).toEqual({ event: "end", data: {} });
    expect(await late.nextEvent()).toEqual({ stopped: "closed" });
    const back = await watch.subscribe({ lastEventId: `${id}` });
    expect(await back.nextEvent()).toEqual({ event: "end", data: {} });
    expect(gateway.requests).toHaveLength(1);
    expect(await watch.alarmAt()).toBe(600); // nor is it forgotten earlier
  });

  test("the numbers of a later watch of the same task are none of the earlier's", async () => {
    const watch = openWatch();
    const { id } = await after(watch, () => task("SUCCESS"));
    await watch.ring();
    const later = await after(watch, () => task("SUCCESS"), `${id}`);
    expect(Number(later.id)).toBeGreaterThan(Number(id));
  });
});

describe("evicted", () => {
  test("between two questions it goes on, with the same numbers", async () => {
    const watch = openWatch();
    const leaving = new AbortController();
    const tab = await watch.subscribe({ signal: leaving.signal });
    await watch.ring();
    const { id } = await tab.nextEvent();
    await leave(watch, leaving);
    await evictDurableObject(watch.object);
    gateway.next = () => task("IN_PROGRESS");
    expect(await watch.ring()).toBe(true);
    const back = await watch.subscribe({ lastEventId: `${id}` });
    expect(await back.nextEvent()).toMatchObject({ id: `${Number(id) + 1}`, event: "task" });
    expect(gateway.requests).toHaveLength(2);
  });

  test("A watch that is evicted before its first poll goes on as well", async () => {
    const watch = openWatch();
    const leaving = new AbortController();
    await watch.subscribe({ signal: leaving.signal });
    await leave(watch, leaving);
    await evictDurableObject(watch.object);
    await watch.ring();
    expect(gateway.requests).toHaveLength(1);
  });

  test("a subscriber sets an alarm that was lost", async () => {
    const watch = openWatch();
    await after(watch, () => task("QUEUED"));
    await runInDurableObject(watch.object, (_, { storage }) => storage.deleteAlarm());
    await watch.subscribe();
    expect(await watch.alarmAt()).toBe(5);
  });

  workerdTest(
    "an alarm whose storage fails stops the streams without an end, and goes on when it is called again",
    async () => {
      const watch = openWatch();
      const tab = await watch.subscribe();
      await runInDurableObject(watch.object, async (instance, { storage }) => {
        const put = vi.spyOn(Object.getPrototypeOf(storage), "put").mockRejectedValueOnce(new Error("disk"));
        await expect(instance.alarm?.()).rejects.toThrow("disk");
        put.mockRestore();
      });
      expect(await tab.nextEvent()).toEqual({ stopped: "closed" });
      const back = await watch.subscribe();
      await watch.ring();
      expect((await back.nextEvent()).event).toBe("task");
    },
  );
});

describe("an end", () => {
  test.each(["SUCCESS", "FAILURE", "success", "Cancelled"])("comes with %s", async (status) => {
    const watch = openWatch();
    const tab = await watch.subscribe();
    gateway.next = () => task(status);
    await watch.ring();
    await tab.nextEvent();
    expect(await tab.nextEvent()).toEqual({ event: "end", data: {} });
    expect(await tab.nextEvent()).toEqual({ stopped: "closed" });
  });

  test("comes with a bare task's status too, and not with 100 % or a reason", async () => {
    const watch = openWatch();
    const tab = await watch.subscribe();
    gateway.next = () => task("REVIEW", { progress: "100%", fail_reason: "https://cdn.example/v.mp4" });
    await watch.ring();
    gateway.next = () => Response.json({ id: "t-1", status: "succeeded", data: { status: "x" } });
    await watch.ring();
    expect((await tab.nextEvent()).data.data.status).toBe("REVIEW");
    expect(await tab.nextEvent()).toMatchObject({ data: { id: "t-1.signed", status: "succeeded" } });
    expect(await tab.nextEvent()).toEqual({ event: "end", data: {} });
  });

  test.each([401, 402, 403])(
    "with %i says nothing of the gateway's, and the operator hears of it",
    async (status) => {
      const log = vi.spyOn(console, "error").mockImplementation(() => {});
      const watch = openWatch();
      const tab = await watch.subscribe();
      gateway.next = () => refusal(status, {}, `wrong key ${KEY}`);
      for (let count = 0; count < 4; count += 1) await watch.ring();
      const said = await tab.nextEvent();
      expect(said).toMatchObject({ event: "error", data: { error: { code: "upstream_auth" } } });
      expect(JSON.stringify(said)).not.toContain("wrong key");
      expect(await tab.nextEvent()).toEqual({ stopped: "closed" });
      expect(JSON.stringify(log.mock.calls)).toContain("the gateway refused the key");
      expectNoKey(JSON.stringify(log.mock.calls));
      // forgotten soon: it may have been mended
      expect(await watch.alarmAt()).toBe((Date.now() - START) / SECOND + 60);
    },
  );

  test("A watch without a key sends nothing, and clients do not get the cause", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const watch = openWatch();
    const tab = await watch.subscribe();
    gateway.key = undefined;
    for (let count = 0; count < 4; count += 1) await watch.ring();
    expect(await tab.nextEvent()).toMatchObject({
      event: "error",
      data: { error: { code: "misconfigured" } },
    });
    expect(gateway.requests).toHaveLength(0);
    expect(log.mock.calls[0]).toEqual([expect.stringContaining("apiKey")]);
  });

  test("unknown right after its creation is waited for, for half a minute", async () => {
    const watch = openWatch();
    const tab = await watch.subscribe();
    gateway.next = () => refusal(404);
    for (let count = 0; count < 20 && Date.now() < START + 30 * SECOND; count += 1) await watch.ring();
    expect(await tab.nextEvent()).toMatchObject({
      event: "error",
      data: { error: { code: "task_not_found" } },
    });
  });

  test("unknown once it was known is waited for, for five minutes", async () => {
    const watch = openWatch();
    await after(watch, () => task("QUEUED"));
    const tab = await watch.subscribe();
    await tab.nextEvent();
    gateway.next = () => refusal(404);
    await watch.ring();
    const since = Date.now();
    for (let count = 0; count < 20 && Date.now() < since + 300 * SECOND; count += 1) await watch.ring();
    expect(await tab.nextEvent()).toMatchObject({
      event: "error",
      data: { error: { code: "task_not_found" } },
    });
  });

  test.each([400, 409, 410])("is none after %i, until four of them in a row", async (status) => {
    const watch = openWatch();
    await after(watch, () => task("QUEUED"));
    const tab = await watch.subscribe();
    await tab.nextEvent();
    gateway.next = () => refusal(status);
    for (let count = 0; count < 3; count += 1) await watch.ring();
    gateway.next = () => task("IN_PROGRESS");
    await watch.ring();
    expect(await tab.nextEvent()).toMatchObject({ data: { data: { status: "IN_PROGRESS" } } });
    gateway.next = () => refusal(status);
    for (let count = 0; count < 4; count += 1) await watch.ring();
    expect(await tab.nextEvent()).toMatchObject({ event: "error", data: { error: { code: "x" } } });
  });

  test.each([
    ["larger than any task", () => task("QUEUED", { prompt: "x".repeat(256 * 1024) })],
    ["a task without a status", () => Response.json({ code: "success", data: { task_id: "t-1" } })],
    ["a failed query under HTTP 200", () => Response.json({ code: "db_error", data: { status: "SUCCESS" } })],
    ["no JSON", () => new Response("{", { headers: { "content-type": "application/json" } })],
    ["JSON null", () => Response.json(null)],
    [
      "an event stream",
      () => new Response("data: {}\n\n", { headers: { "content-type": "text/event-stream" } }),
    ],
    ["a page", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["the key", () => task("QUEUED", { prompt: KEY })],
  ])("comes after four answers that are %s", async (_, answer) => {
    const watch = openWatch();
    const tab = await watch.subscribe();
    gateway.next = answer;
    for (let count = 0; count < 3; count += 1) await watch.ring();
    expect(await watch.alarmAt()).toBe(35);
    await watch.ring();
    expect(await tab.nextEvent()).toMatchObject({
      event: "error",
      data: { error: { code: "upstream_unreadable" } },
    });
  });

  test("closes the connection of an event stream", async () => {
    const watch = openWatch();
    await watch.subscribe();
    const cancel = vi.fn();
    const headers = { "content-type": "text/event-stream" };
    gateway.next = () => new Response(new ReadableStream({ cancel }), { headers });
    await watch.ring();
    expect(cancel).toHaveBeenCalled();
  });

  test.each([
    ["an answer", () => task("QUEUED")],
    ["a failure", () => refusal(500)],
  ])("comes after 24 hours, listened to or not over, with %s", async (_, answer) => {
    const watch = openWatch();
    const tab = await watch.subscribe();
    gateway.next = () => refusal(429, { "retry-after": "200000" });
    await watch.ring();
    expect(await watch.alarmAt()).toBeLessThan(12 * 60);
    vi.setSystemTime(START + 24 * 60 * 60 * SECOND);
    gateway.next = answer;
    await watch.ring();
    let last = await tab.nextEvent();
    if (last.event === "task") last = await tab.nextEvent();
    expect(last).toMatchObject({ event: "error", data: { error: { code: "watch_timeout" } } });
  });
});

describe("cleaning up", () => {
  workerdTest("ten minutes after the end nothing is left", async () => {
    const watch = openWatch();
    await after(watch, () => task("SUCCESS"));
    expect(await watch.stored()).toBe(1);
    expect(await watch.alarmAt()).toBe(600);
    await watch.ring();
    expect([await watch.stored(), await watch.alarmAt()]).toEqual([0, null]);
  });

  workerdTest("an hour without a listener ends it, and nothing is left", async () => {
    const watch = openWatch();
    const leaving = new AbortController();
    await watch.subscribe({ signal: leaving.signal });
    await watch.ring();
    await leave(watch, leaving);
    for (let count = 0; count < 200 && (await watch.alarmAt()) !== null; count += 1) await watch.ring();
    expect(Date.now() - START).toBeGreaterThanOrEqual(HOUR);
    expect(Date.now() - START).toBeLessThan(HOUR + 2 * MINUTE);
    expect(await watch.stored()).toBe(0);
  });

  test("a tab that reads nothing is ended before it costs memory, and the others go on", async () => {
    const watch = openWatch();
    const [slow, quick] = [await watch.subscribe(), await watch.subscribe()];
    let sent = 0;
    gateway.next = () => task("IN_PROGRESS", { prompt: "x".repeat(200_000), progress: `${++sent}%` });
    for (let count = 0; count < 20; count += 1) {
      await watch.ring();
      expect((await quick.nextEvent()).data.data.progress).toBe(`${count + 1}%`);
    }
    for (let beats = 0; beats < 3; beats += 1) {
      await runInDurableObject(watch.object, () => void vi.advanceTimersByTime(25 * SECOND));
      expect(await quick.next()).toEqual({ comment: true });
    }
    const seen: unknown[] = [];
    let last = await slow.nextEvent();
    for (; last.event; last = await slow.nextEvent()) seen.push(last.data.data.progress);
    expect(last).toEqual({ stopped: "closed" });
    expect(seen.length).toBeLessThan(5);
    // one that has gone no longer counts
    await watch.ring();
    expect((await quick.nextEvent()).data.data.progress).toBe("21%");
  });
});

/** The first event of a watch that is answered so; nobody listens afterwards. */
async function after(watch: ReturnType<typeof openWatch>, answer: () => Response, lastEventId?: string) {
  const leaving = new AbortController();
  const tab = await watch.subscribe({ signal: leaving.signal, ...(lastEventId && { lastEventId }) });
  gateway.next = answer;
  await watch.ring();
  const event = await tab.nextEvent();
  await leave(watch, leaving);
  return event;
}

/** Leaves as a closed tab does, and waits until the object knows: then it sends no more comments. */
async function leave({ object }: ReturnType<typeof openWatch>, leaving: AbortController) {
  leaving.abort();
  for (let turn = 0; vi.getTimerCount() > 0; turn += 1) {
    if (turn === 500) throw new Error("nobody noticed that the tab has gone");
    await runInDurableObject(object, () => {});
  }
}

function broken(): Response {
  const body = new ReadableStream({
    pull(controller) {
      controller.error(new TypeError("terminated"));
    },
  });
  return new Response(body, { headers: { "content-type": "application/json" } });
}
