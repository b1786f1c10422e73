import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { readEvents } from "../../worker-proxy/test/support/event-stream.js";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { read } from "../../worker-proxy/test/support/key.js";
import {
  create,
  DAY,
  done,
  gatewaySays,
  HOUR,
  newestTask,
  polls,
  queued,
  SECOND,
  START,
  stopClock,
} from "./support/created-task.js";
import { ends, refusal, task } from "./support/durable-gateway.js";

expectLog(
  "502 upstream_unreachable",
  "ends without a known result",
  "504 watch_timeout",
  "502 upstream_error",
  "502 upstream_auth",
);

stopClock();

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

test.each([
  ["a page", () => new Response("<h1>404</h1>", { status: 404, headers: { "content-type": "text/html" } })],
  ["nothing", () => new Response(null, { status: 404 })],
  ["words", () => new Response("404 page not found", { status: 404 })],
])("case 157: an hour of 404s with %s says nothing of a task, and its film is told", async (_, answer) => {
  // what answered is not the gateway
  vi.spyOn(console, "error").mockImplementation(() => {});
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
    taskId: newestTask(),
  };
  const requestId = receipt.headers.get("x-request-id");
  expect(onEvent.mock.calls).toEqual([[expect.objectContaining({ ...facts, requestId }), env]]);
});
