import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { conversations } from "@sluice/durable";
import { type Schedule, scheduler } from "@sluice/durable/runner";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { gateway, refusal } from "./support/durable-gateway.js";
import { workerdTest } from "./support/platform.js";
import type { Rows } from "./support/rows.js";
import { openRunUser } from "./support/run-user.js";
import {
  calls,
  isKeeping,
  KEEP_MS,
  keptRuns,
  LATE_MS,
  type RunEnv,
  runs,
  says,
  script,
  tool,
} from "./support/runs.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A Thursday, 12:00 in Berlin; so far away that no alarm rings by itself. */
const NOON = Date.parse("2036-11-27T11:00:00Z");

let users = 0;
let ada = openRunUser("none");

beforeEach(() => {
  ada = openRunUser(`plan-${++users}`);
  runs.reset();
  isKeeping.value = true;
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.useFakeTimers({ toFake: ["Date"], now: NOON });
  script(() => says("Good morning"));
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const at = (time: number) => void vi.setSystemTime(time);
const daily = (more: object = {}) => ({
  id: "s-1",
  message: { content: "Paint the morning" },
  time: "08:00",
  timeZone: "Europe/Berlin",
  ...more,
});
const once = (more: object = {}) => ({
  id: "s-1",
  message: { content: "Wake me" },
  at: NOON + HOUR_MS,
  ...more,
});
const eight = (date: string) => Date.parse(`${date}T08:00:00+01:00`);

/** Rings the alarm at a time. */
async function ringAt(time: number): Promise<void> {
  at(time);
  await ada.ring();
}
const events = (kind: string) => runs.events.filter((event) => event.kind === kind);
const first = async () => (await ada.schedules())[0] as Schedule;

describe("a schedule", () => {
  test("Each day it starts a turn, which is answered as any other", async () => {
    expect(await ada.schedule(daily())).toMatchObject({ user: ada.user, nextAt: eight("2036-11-28") });
    await ringAt(eight("2036-11-28") - 1);
    expect(gateway.requests).toHaveLength(0);
    await ringAt(eight("2036-11-28"));
    await ada.ended();
    expect(await ada.thread()).toMatchObject([
      { id: `s-1.${eight("2036-11-28")}`, role: "user", content: "Paint the morning" },
      { role: "assistant", content: "Good morning", outcome: "complete" },
    ]);
    expect(await first()).toMatchObject({
      nextAt: eight("2036-11-29"),
      last: { at: eight("2036-11-28"), outcome: "started", messageId: `s-1.${eight("2036-11-28")}` },
    });
    await ringAt(eight("2036-11-29"));
    await ada.ended(2);
    expect((await ada.thread()).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(runs.requests.filter(({ route }) => route === "chat").every(({ user }) => user === ada.user)).toBe(
      true,
    );
  });

  test("Once: it ends as done, and the same request later makes no second one", async () => {
    await ada.schedule(once());
    await ringAt(NOON + HOUR_MS);
    await ada.ended();
    expect(await first()).toMatchObject({ nextAt: null, code: "done", last: { outcome: "started" } });
    expect(await ada.schedule(once())).toMatchObject({ code: "done" });
    await ringAt(NOON + 2 * HOUR_MS);
    expect(gateway.requests).toHaveLength(1);
  });

  test("On some days of the week it rests on the others", async () => {
    const { nextAt } = await ada.schedule(daily({ days: [1, 3] }));
    expect(nextAt).toBe(eight("2036-12-01"));
    await ringAt(eight("2036-12-01"));
    await ada.ended();
    expect((await first()).nextAt).toBe(eight("2036-12-03"));
  });

  describe("in a conversation that no device has begun", () => {
    const list = () => openRunUser(ada.user, "~index");

    test("puts it on the list of the user at once, with its title or its first line", async () => {
      await ada.schedule(daily({ title: "Morning picture" }));
      await ada.ring();
      const listed = { title: "Morning picture", createdAt: NOON, updatedAt: NOON, revision: 0 };
      expect(await list().records()).toMatchObject({ "c-1": listed });
      const other = openRunUser(ada.user, "c-2");
      await other.schedule(once({ message: { content: `\n  Wake me ${"up ".repeat(40)}\nand more` } }));
      await other.ring();
      const { title } = (await list().records())["c-2"] as unknown as { title: string };
      expect(title).toMatch(/^Wake me (up )+u?…$/);
      expect([...title]).toHaveLength(60);
    });

    test("leaves the title that a device has given, before or after it", async () => {
      const named = { title: "Mine", createdAt: 1, updatedAt: 1, revision: 1 };
      const changes = { "c-1": { value: named, seen: Number.MAX_SAFE_INTEGER } };
      const name = () => list().ask("POST", "/records", { device: "device-a", changes });
      await ada.schedule(daily({ title: "Morning picture" }));
      await ada.ring();
      await name();
      await ada.schedule(once({ id: "s-2", title: "Another" }));
      await ringAt(eight("2036-11-28"));
      await ada.ended();
      await ada.ring();
      expect((await list().records())["c-1"]).toEqual(named);
    });

    test("lists it also where the index could not be told at first, and not once it was removed", async () => {
      await ada.schedule(once({ title: "Later" }));
      await ada.lose();
      await ringAt(NOON + HOUR_MS);
      await ada.ended();
      await ada.ring();
      expect(await list().records()).toMatchObject({ "c-1": { title: "Later" } });
      await ada.ask("DELETE", "");
      await ada.ring();
      expect((await list().records())["c-1"]).toBeUndefined();
    });

    test("has none on the list after it was removed without a start and a note", async () => {
      await ada.schedule(once());
      await ada.ask("DELETE", "/schedules", undefined, "?schedule=s-1");
      await ada.ring();
      expect((await list().records())["c-1"]).toBeUndefined();
    });
  });

  test("It keeps a conversation that nobody writes to, until it has ended", async () => {
    const start = NOON + 2 * KEEP_MS;
    const index = openRunUser(ada.user, "~index");
    await ada.schedule(once({ at: start }));
    await ada.ring();
    for (const time of [NOON + KEEP_MS + DAY_MS, start - 1]) {
      at(time);
      await index.ring();
    }
    await ringAt(start);
    await ada.ended();
    expect((await ada.thread()).map(({ content }) => content)).toEqual(["Wake me", "Good morning"]);
    await ada.ring();
    at(start + KEEP_MS + DAY_MS);
    await index.ring();
    expect(await ada.records()).toEqual({});
  });

  test("It makes an image, which is a message of the conversation", async () => {
    gateway.answers(() => Response.json({ data: [{ url: "https://cdn.example/1.png" }] }));
    const image = {
      model: "gamma-image-5-0-260128",
      prompt: "A reef at dawn",
      params: { size: "2048x2048" },
    };
    const models: string[] = [];
    runs.send.push({ name: "app", run: async ({ model }) => void models.push(model) });
    await ada.schedule(daily({ message: undefined, image }));
    await ringAt(eight("2036-11-28"));
    await ada.ended();
    expect(await ada.thread()).toMatchObject([
      { role: "user", content: "A reef at dawn" },
      { role: "assistant", images: ["https://cdn.example/1.png"], outcome: "complete" },
    ]);
    await ada.ring();
    expect([...models, ...events("run").map(({ model }) => model)]).toEqual([image.model, image.model]);
    expect(Object.values(await ada.records()).filter(({ by }) => by === "server")).toHaveLength(2);
    expect(gateway.requests).toHaveLength(1);
  });

  test("It makes a video, and waits for it as the runner does", async () => {
    gateway.answers(({ method }) =>
      Response.json(
        method === "POST"
          ? { id: "t-1", status: "queued", progress: 0 }
          : {
              code: "success",
              data: { task_id: "t-1", status: "SUCCESS", result_url: "https://cdn.example/v.mp4" },
            },
      ),
    );
    const video = { model: "beta3.0-video", prompt: "A reef at dawn", params: { duration: 5 } };
    await ada.schedule(daily({ message: undefined, video }));
    await ringAt(eight("2036-11-28"));
    await ada.ended();
    expect((await ada.thread()).at(-1)).toMatchObject({
      files: [{ type: "video/mp4", url: "https://cdn.example/v.mp4" }],
      outcome: "complete",
    });
    expect(gateway.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("All devices see it in a record, also after a change, and not after it was removed", async () => {
    await ada.schedule(daily());
    expect((await ada.records())["/schedule/s-1"]).toMatchObject({ time: "08:00" });
    await ada.schedule(daily({ time: "09:30" }));
    expect((await ada.records())["/schedule/s-1"]).toMatchObject({
      time: "09:30",
      nextAt: eight("2036-11-28") + 1.5 * HOUR_MS,
    });
    expect((await ada.ask("DELETE", "/schedules", undefined, "?schedule=s-1")).status).toBe(204);
    expect((await ada.ask("DELETE", "/schedules", undefined, "?schedule=s-1")).status).toBe(204);
    expect(Object.keys(await ada.records())).not.toContain("/schedule/s-1");
    await ringAt(eight("2036-11-29"));
    expect(gateway.requests).toHaveLength(0);
  });

  test("The app's server makes, lists and removes it for a user", async () => {
    const { schedule, listSchedules, removeSchedule } = scheduler<RunEnv>((bound) => bound.RUN_CONVERSATIONS);
    const place = { user: ada.user, conversation: "c-1" };
    const asked = { id: "s-1", message: { content: "Hi" }, at: NOON + HOUR_MS };
    const bound = env as unknown as RunEnv;
    expect(await schedule(bound, { ...place, schedule: asked })).toMatchObject({ nextAt: NOON + HOUR_MS });
    expect(await listSchedules(bound, place)).toMatchObject([{ id: "s-1", user: ada.user }]);
    await ringAt(NOON + HOUR_MS);
    await ada.ended();
    await schedule(bound, { ...place, schedule: { ...asked, id: "s-2", at: NOON + 2 * HOUR_MS } });
    await removeSchedule(bound, { ...place, id: "s-2" });
    await ringAt(NOON + 2 * HOUR_MS);
    expect(gateway.requests).toHaveLength(1);
    await expect(schedule(bound, { ...place, schedule: { ...asked, id: "?" } })).rejects.toMatchObject({
      name: "ScheduleError",
      message: expect.stringContaining("id: send 1 to 64"),
      status: 400,
      code: "invalid_request",
    });
  });
});

describe("case 248: a schedule that is none", () => {
  test.each([
    ["no id", { id: "a b" }, "id:"],
    ["a title that is too long", { title: "x".repeat(101) }, "title:"],
    ["no work", { message: undefined }, "message: send one of"],
    ["two kinds of work", { image: { model: "x", prompt: "y" } }, "message: send one of"],
    ["a message without text", { message: { content: " " } }, "message.content:"],
    [
      "an image that is no address",
      { message: { content: "x", images: ["javascript:1"] } },
      "message.images:",
    ],
    ["a message of 70,000 letters", { message: { content: "x".repeat(70_000) } }, "message:"],
    [
      "a model that makes no images",
      { message: undefined, image: { model: "x", prompt: "y" } },
      "image: model",
    ],
    [
      "a size that the model has not",
      {
        message: undefined,
        image: { model: "gamma-image-5-0-260128", prompt: "y", params: { size: "1x1" } },
      },
      "image: size",
    ],
    [
      "a length that the model has not",
      { message: undefined, video: { model: "beta3.0-video", prompt: "y", params: { duration: 99 } } },
      "video: parameters.duration",
    ],
    ["no time", { time: undefined, timeZone: undefined }, "at: send one of"],
    ["both times", { at: NOON + 1 }, "at: send one of"],
    ["a time of day that is none", { time: "24:00" }, "time:"],
    ["a zone that is none", { timeZone: "Mars/Olympus" }, "timeZone:"],
    ["no zone", { timeZone: undefined }, "timeZone:"],
    ["an eighth day", { days: [8] }, "days:"],
    ["no day", { days: [] }, "days:"],
    [
      "a time in the past",
      { time: undefined, timeZone: undefined, at: NOON - 1 },
      "at: send a time in the future",
    ],
    [
      "a time in two years",
      { time: undefined, timeZone: undefined, at: NOON + 700 * DAY_MS },
      "at: send a time in the future",
    ],
  ])("%s is refused with the name of the field", async (_, change, words) => {
    const { status, json } = await ada.ask("POST", "/schedules", daily(change));
    expect([status, json.error.code]).toEqual([400, "invalid_request"]);
    expect(json.error.message).toContain(words);
    expect(await ada.schedules()).toEqual([]);
  });
});

describe("case 249: a schedule that is sent twice", () => {
  test("By two devices at once, and again later: one schedule, and one start", async () => {
    const all = await Promise.all([daily(), daily(), daily()].map((asked) => ada.schedule(asked)));
    expect(new Set(all.map((schedule) => JSON.stringify(schedule))).size).toBe(1);
    await ringAt(eight("2036-11-28"));
    await Promise.all([ada.ring(), ada.ring()]);
    await ada.ended();
    await ada.schedule(daily());
    await ada.ring();
    expect(gateway.requests).toHaveLength(1);
    expect(await ada.schedules()).toHaveLength(1);
  });

  test("One that was removed does not come back with a request that was on its way", async () => {
    await ada.schedule(daily());
    await ada.ask("DELETE", "/schedules", undefined, "?schedule=s-1");
    const { status, json } = await ada.ask("POST", "/schedules", daily());
    expect([status, json.error.code]).toEqual([410, "schedule_removed"]);
  });

  test("Its object is lost before and after a start: it starts once", async () => {
    await ada.schedule(daily());
    await ada.lose();
    await ringAt(eight("2036-11-28"));
    await ada.ended();
    await ada.lose();
    await ada.ring();
    await ada.lose();
    expect(await ada.thread()).toHaveLength(2);
    expect(gateway.requests).toHaveLength(1);
  });

  test("A start whose next time was not stored any more is not begun again", async () => {
    await ada.schedule(daily());
    const before = await rowOf("s-1");
    await ringAt(eight("2036-11-28"));
    await ada.ended();
    await runInDurableObject(await ada.object(), (_, { storage }) => {
      const set = "UPDATE schedules SET dueAt = ?, wakeAt = ?, schedule = ? WHERE id = 's-1'";
      storage.sql.exec(set, before["dueAt"], before["wakeAt"], before["schedule"]);
    });
    await ada.lose();
    await ada.ring();
    expect(gateway.requests).toHaveLength(1);
    expect((await first()).nextAt).toBe(eight("2036-11-29"));
  });
});

async function rowOf(id: string): Promise<Record<string, unknown>> {
  return (await runInDurableObject(
    await ada.object(),
    (_, { storage }) => storage.sql.exec("SELECT * FROM schedules WHERE id = ?", id).toArray()[0],
  )) as Record<string, unknown>;
}

describe("case 250: times", () => {
  test.each([
    [
      "a time that the day does not have is as much later",
      "2037-03-28T12:00:00Z",
      "02:30",
      "2037-03-29T01:30:00Z",
    ],
    [
      "a time that the day has twice counts the first time",
      "2037-10-24T12:00:00Z",
      "02:30",
      "2037-10-25T00:30:00Z",
    ],
    ["a day of 23 hours", "2037-03-28T12:00:00Z", "08:00", "2037-03-29T06:00:00Z"],
    ["a day of 25 hours", "2037-10-24T12:00:00Z", "08:00", "2037-10-25T07:00:00Z"],
  ])("%s", async (_, now, time, next) => {
    at(Date.parse(now));
    const { nextAt } = await ada.schedule(daily({ time }));
    expect(new Date(nextAt ?? 0).toISOString()).toBe(new Date(next).toISOString());
    // and once only
    await ringAt(nextAt ?? 0);
    await ada.ended();
    const after = (await first()).nextAt ?? 0;
    expect(after - (nextAt ?? 0)).toBeGreaterThan(20 * HOUR_MS);
  });

  test.each([
    ["Pacific/Kiritimati", "2036-11-27T18:00:00.000Z"],
    ["Pacific/Pago_Pago", "2036-11-27T19:00:00.000Z"],
    ["Asia/Kolkata", "2036-11-28T02:30:00.000Z"],
    ["UTC", "2036-11-28T08:00:00.000Z"],
  ])("In %s it is eight o'clock there", async (timeZone, next) => {
    const { nextAt } = await ada.schedule(daily({ timeZone }));
    expect(new Date(nextAt ?? 0).toISOString()).toBe(next);
  });
});

describe("case 251: starts that are missed", () => {
  test("An outage of three days: the newest time starts once, and no other", async () => {
    await ada.schedule(daily());
    await ringAt(eight("2036-12-01") + LATE_MS - 1);
    await ada.ended();
    expect(await ada.thread()).toMatchObject([{ id: `s-1.${eight("2036-12-01")}` }, {}]);
    expect(gateway.requests).toHaveLength(1);
    expect((await first()).nextAt).toBe(eight("2036-12-02"));
  });

  test("A time that was missed for too long is skipped: with an event, in the list and in the conversation", async () => {
    await ada.schedule(daily());
    await ringAt(eight("2036-12-01") + LATE_MS + 1);
    expect(gateway.requests).toHaveLength(0);
    expect(events("schedule")).toMatchObject([
      { id: "s-1", user: ada.user, outcome: "dropped", code: "schedule_missed" },
    ]);
    expect(await ada.thread()).toMatchObject([
      { role: "user", error: { code: "schedule_missed", outcome: "not-sent" } },
    ]);
    expect(await first()).toMatchObject({
      nextAt: eight("2036-12-02"),
      last: { at: eight("2036-12-01"), outcome: "missed", code: "schedule_missed" },
    });
  });

  test("While another turn runs it waits, and starts right after it", async () => {
    let isOpen = true;
    gateway.answers(async () => {
      while (isOpen) await new Promise((resolve) => setTimeout(resolve, 1));
      return says("Late");
    });
    await ada.ask("POST", "/turns", { device: "phone", message: { id: "q-1", content: "Hi" }, parent: null });
    await ada.schedule(once({ at: NOON + 60_000 }));
    await ringAt(NOON + 60_000);
    expect(await ada.thread()).toHaveLength(2);
    isOpen = false;
    await ada.ended();
    await ada.ring();
    await ada.ended(2);
    expect((await ada.thread()).map(({ content }) => content)).toEqual(["Hi", "Late", "Wake me", "Late"]);
  });

  test("A turn that waits for an approval holds it up until it is missed, and is not cancelled", async () => {
    runs.tools = [tool("pay", async () => "paid", { needsApproval: true })];
    script(() => calls("pay"));
    await ada.ask("POST", "/turns", {
      device: "phone",
      message: { id: "q-1", content: "Pay" },
      parent: null,
    });
    await expect
      .poll(async () => JSON.stringify(await ada.thread()), { timeout: 20_000 })
      .toContain("needs-approval");
    await ada.schedule(once());
    await ringAt(NOON + HOUR_MS);
    await ringAt(NOON + HOUR_MS + LATE_MS + 1);
    expect(events("schedule")).toMatchObject([{ outcome: "dropped", code: "schedule_missed" }]);
    expect(JSON.stringify(await ada.thread())).toContain("needs-approval");
    expect(await first()).toMatchObject({ last: { outcome: "missed" } });
  });
});

describe("case 252: users who are gone", () => {
  test("One who may not any more starts nothing: the schedule ends, with an event and in the conversation", async () => {
    await ada.schedule(daily());
    const asked: unknown[] = [];
    runs.mayStart = (start) => {
      asked.push(start);
      return false;
    };
    await ringAt(eight("2036-11-28"));
    expect(asked).toEqual([{ user: { id: ada.user }, conversation: "c-1", schedule: "s-1" }]);
    expect(await first()).toMatchObject({
      nextAt: null,
      code: "not_permitted",
      last: { outcome: "refused" },
    });
    expect(events("schedule")).toMatchObject([{ outcome: "refused", code: "not_permitted" }]);
    expect((await ada.thread()).at(-1)).toMatchObject({ error: { code: "not_permitted" } });
    await ringAt(eight("2036-11-29"));
    expect([gateway.requests.length, asked.length]).toEqual([0, 1]);
  });

  test.each([
    ["throws", () => Promise.reject(new Error("no database"))],
    ["says nonsense", () => "yes" as unknown as boolean],
  ])("A decision that %s starts nothing, and is made again in a minute", async (_, decide) => {
    await ada.schedule(daily());
    runs.mayStart = decide;
    await ringAt(eight("2036-11-28"));
    expect(events("schedule")).toMatchObject([{ outcome: "waiting", code: "may_start_failed" }]);
    expect(gateway.requests).toHaveLength(0);
    runs.mayStart = () => true;
    await ringAt(eight("2036-11-28") + 60_000);
    await ada.ended();
    expect(gateway.requests).toHaveLength(1);
  });

  test("One who was erased starts nothing more, also where the decision was still open", async () => {
    await ada.schedule(daily());
    runs.mayStart = async () => {
      await conversations(keptRuns).userData?.eraseUser(env as unknown as RunEnv, ada.user);
      return true;
    };
    await ringAt(eight("2036-11-28"));
    expect(await ada.records()).toEqual({});
    expect(await ada.schedules()).toEqual([]);
    await ringAt(eight("2036-11-29"));
    expect(gateway.requests).toHaveLength(0);
  });

  test("A conversation that is removed takes its schedules with it", async () => {
    await ada.schedule(daily());
    expect((await ada.ask("DELETE", "")).status).toBe(204);
    await ringAt(eight("2036-11-28"));
    expect(gateway.requests).toHaveLength(0);
    expect((await ada.ask("POST", "/schedules", daily())).status).toBe(410);
  });

  test("A budget that is used up refuses the start, which is seen in the conversation, and the next day works", async () => {
    isKeeping.value = false;
    runs.budget = { retryAfterMs: DAY_MS };
    await ada.schedule(daily());
    await ringAt(eight("2036-11-28"));
    await ada.ended();
    expect(gateway.requests).toHaveLength(0);
    expect((await ada.thread()).at(-1)).toMatchObject({ error: { apiCode: "budget_exhausted" } });
    runs.budget = undefined;
    await ringAt(eight("2036-11-29"));
    await ada.ended(2);
    expect((await ada.thread()).at(-1)).toMatchObject({ content: "Good morning" });
  });
});

describe("case 253: an image or a video that goes wrong", () => {
  const image = { model: "gamma-image-5-0-260128", prompt: "A reef" };

  test.each([
    ["404", () => refusal(404), "refused"],
    ["400", () => refusal(400), "refused"],
    ["429 with a day to wait", () => refusal(429, { "retry-after": "86400" }), "refused"],
    ["nonsense", () => new Response("<html>"), "failed"],
  ])(
    "An answer of %s ends the turn with the error in its message, and the next day works",
    async (_, bad, outcome) => {
      gateway.answers(() => bad());
      await ada.schedule(daily({ message: undefined, image }));
      await ringAt(eight("2036-11-28"));
      await ada.ended();
      expect(events("run")).toMatchObject([{ outcome }]);
      expect((await ada.thread()).at(-1)).toMatchObject({
        outcome: "error",
        error: { message: expect.any(String) },
      });
      gateway.answers(() => Response.json({ data: [{ url: "https://cdn.example/2.png" }] }));
      await ringAt(eight("2036-11-29"));
      await ada.ended(2);
      expect((await ada.thread()).at(-1)).toMatchObject({ images: ["https://cdn.example/2.png"] });
    },
  );

  test("Any device stops it", async () => {
    gateway.answers(
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    await ada.schedule(daily({ message: undefined, image }));
    await ringAt(eight("2036-11-28"));
    await expect.poll(() => gateway.requests.length, { timeout: 20_000 }).toBe(1);
    expect((await ada.ask("DELETE", "/turns")).status).toBe(204);
    await ada.ended();
    expect((await ada.thread()).at(-1)).toMatchObject({ outcome: "stopped" });
    expect(events("run")).toMatchObject([{ outcome: "stopped" }]);
  });

  test("One that comes to nothing is stopped after `stallMs`, and its message says so", async () => {
    gateway.answers(
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    await ada.schedule(daily({ message: undefined, image }));
    await ringAt(eight("2036-11-28"));
    await expect.poll(() => gateway.requests.length, { timeout: 20_000 }).toBe(1);
    await ringAt(eight("2036-11-28") + 121_000);
    await ada.ended();
    expect(events("run")).toMatchObject([{ outcome: "failed", code: "run_stalled" }]);
    expect((await ada.thread()).at(-1)).toMatchObject({ error: { code: "run_stalled" } });
  });
});

describe("case 254: bounds of schedules", () => {
  test("A user has no more than the runner allows, over all conversations; one that is removed makes room", async () => {
    const other = openRunUser(ada.user, "c-2");
    await ada.schedule(daily());
    await ada.schedule(daily({ id: "s-2" }));
    await other.schedule(daily());
    const { status, json } = await other.ask("POST", "/schedules", daily({ id: "s-2" }));
    expect([status, json.error.code]).toEqual([429, "too_many_schedules"]);
    // a change is no new one
    await other.schedule(daily({ time: "09:00" }));
    await ada.ask("DELETE", "/schedules", undefined, "?schedule=s-2");
    // the list is told by the alarm
    await ada.ring();
    await other.schedule(daily({ id: "s-2" }));
  });

  test("Of ten that are asked for at once, a user gets as many as the runner allows", async () => {
    const asked = Array.from({ length: 10 }, (_, nth) =>
      ada.ask("POST", "/schedules", daily({ id: `s-${nth}` })),
    );
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(7);
    expect(await ada.schedules()).toHaveLength(3);
    const other = openRunUser(ada.user, "c-2");
    expect((await other.ask("POST", "/schedules", daily())).status).toBe(429);
  });

  test("Those that are refused count for nothing, in conversations to which nothing is written", async () => {
    for (let nth = 0; nth < 4; nth += 1) {
      const { status } = await openRunUser(ada.user, `past-${nth}`).ask(
        "POST",
        "/schedules",
        once({ at: NOON - 1 }),
      );
      expect(status).toBe(400);
    }
    for (let nth = 0; nth < 3; nth += 1) await ada.schedule(daily({ id: `s-${nth}` }));
    const other = openRunUser(ada.user, "c-2");
    expect((await other.ask("POST", "/schedules", daily())).status).toBe(429);
    await ada.ask("DELETE", "/schedules", undefined, "?schedule=s-0");
    await ada.ring();
    await other.schedule(daily());
  });

  test("Those that have ended are forgotten one day, and are few until then", async () => {
    for (let nth = 0; nth < 60; nth += 1) {
      await ada.schedule(once({ id: `s-${nth}` }));
      await ada.ask("DELETE", "/schedules", undefined, `?schedule=s-${nth}`);
    }
    expect((await ada.schedules()).length).toBeLessThanOrEqual(51);
    at(NOON + 40 * DAY_MS);
    await ada.schedule(once({ id: "new", at: NOON + 41 * DAY_MS }));
    expect((await ada.schedules()).map(({ id }) => id)).toEqual(["new"]);
  });

  test("A record that a device writes in the place of a schedule is put back, and starts nothing", async () => {
    await ada.schedule(daily());
    const forged = { ...daily({ time: "12:01" }), nextAt: NOON + 60_000, user: "other" };
    const changes = {
      "/schedule/s-1": { value: forged, seen: Number.MAX_SAFE_INTEGER },
      "/schedule/s-9": { value: forged, seen: 0 },
    };
    await ada.ask("POST", "/records", { device: "phone", changes });
    const records = await ada.records();
    expect(records["/schedule/s-1"]).toMatchObject({ time: "08:00" });
    // members of a shared conversation read it
    expect(records["/schedule/s-1"]).not.toHaveProperty("user");
    expect(records["/schedule/s-9"]).toBeUndefined();
    await ringAt(NOON + 60_000);
    expect(gateway.requests).toHaveLength(0);
  });

  test("The index of a user has none", async () => {
    const index = openRunUser(ada.user, "~index");
    expect((await index.ask("GET", "/schedules")).status).toBe(400);
  });

  workerdTest("A start beside 3,000 messages reads and writes no more rows than beside 300", async () => {
    const few = await rowsBeside(300);
    const many = await rowsBeside(3_000);
    // the page on capacity says 110 and 25; an answer may be written once more
    expect(few.read).toBeLessThanOrEqual(130);
    expect(few.written).toBeLessThanOrEqual(30);
    expect(many.read).toBeLessThanOrEqual(few.read + 20);
    expect(many.written).toBeLessThanOrEqual(few.written + 10);
  });
});

/** Counts the rows of one start beside some messages. An object that has left memory meanwhile counts anew. */
async function rowsBeside(messages: number): Promise<Rows> {
  for (;;) {
    const rows = await countedBeside(messages);
    if (rows) return rows;
  }
}

async function countedBeside(messages: number): Promise<Rows | undefined> {
  at(NOON);
  ada = openRunUser(`${ada.user}-${messages}`);
  for (let from = 0; from < messages; from += 900) {
    const part = Array.from({ length: Math.min(900, messages - from) }, (_, nth) => oldMessage(from + nth));
    const changes = Object.fromEntries([
      ...part,
      ["/leaf", { value: `m-${messages - 1}`, seen: Number.MAX_SAFE_INTEGER }],
    ]);
    expect((await ada.ask("POST", "/records", { device: "phone", changes })).status).toBe(200);
    await ada.ring();
  }
  await ada.schedule(daily());
  // the index knows all texts then: no note is counted
  for (let notes = 0; notes <= messages / 100; notes += 1) await ada.ring();
  const rowsOf = async () =>
    runInDurableObject(await ada.object(), (instance) => ({
      instance,
      ...(instance as unknown as { rows: Rows }).rows,
    }));
  const before = await rowsOf();
  const count = events("run").length;
  await ringAt(eight("2036-11-28"));
  await ada.ended(count + 1);
  const after = await rowsOf();
  if (after.instance !== before.instance) return undefined;
  return { read: after.read - before.read, written: after.written - before.written };
}

function oldMessage(nth: number): [string, object] {
  const id = `m-${nth}`;
  const role = nth % 2 ? "assistant" : "user";
  const message = { id, role, content: "x", ...(nth % 2 && { outcome: "complete" }) };
  return [id, { value: { message, parent: nth ? `m-${nth - 1}` : null, revision: 0 }, seen: 0 }];
}
