import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  alarmOf,
  ask,
  create,
  events,
  objects,
  operator,
  ring,
  ringFor,
  said,
  world,
} from "./support/notices.js";

const START = Date.UTC(2040, 0, 1);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
let tests = 0;
let user = "";
const log = vi.spyOn(console, "error");
const lines = () => log.mock.calls.flat().join("\n");

beforeEach(() => {
  // a time that never comes by itself: alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date"], now: START + ++tests * 100 * DAY });
  vi.spyOn(Math, "random").mockReturnValue(0);
  log.mockImplementation(() => {});
  user = `user-${tests}`;
  world.reset();
});
afterEach(() => {
  vi.useRealTimers();
  log.mockReset();
});

const of = (kind: string) => world.events.filter((event) => event.kind === kind);
const lettersOf = async (letters: typeof operator.webhooks) =>
  (await letters.listDeadLetters(operator.env)).letters.filter((letter) => letter.user === user);

describe("events", () => {
  test("case 129: a watch and its webhook are one event each, with the ids of their task and create", async () => {
    const { watch, gatewayId, requestId } = await create(user);
    await ring(watch);
    world.task = () => said("SUCCESS");
    await ring(watch);
    await ring(watch);
    const ids = { user, taskId: gatewayId, requestId, model: "beta3.0-video", outcome: "complete" };
    expect(world.events).toMatchObject([
      { kind: "watch", id: gatewayId, attempts: 2, durationMs: 20_000, ...ids },
      { kind: "webhook", upstreamStatus: 204, attempts: 1, ...ids },
    ]);
    expect(log).not.toHaveBeenCalled();
  });

  test.each([
    ["failed", () => said("FAILURE"), "failed", "task_failed"],
    [
      "not known any more",
      () => Response.json({ error: { message: "no" } }, { status: 404 }),
      "lost",
      "task_not_found",
    ],
    ["not over after a day", () => said("QUEUED"), "lost", "watch_timeout"],
  ])(
    "case 129: a task that is %s is told so, and what is lost is in the log",
    async (_, answer, outcome, code) => {
      const { watch, gatewayId } = await create(user);
      await ring(watch);
      world.task = answer;
      if (code === "watch_timeout") vi.setSystemTime(Date.now() + DAY);
      while (of("watch").length === 0) await ring(watch);
      expect(of("watch")).toMatchObject([{ outcome, code, taskId: gatewayId }]);
      expect(lines().includes(`task ${gatewayId} ends without a known result: ${code}`)).toBe(
        outcome === "lost",
      );
    },
  );

  test("case 129: the end of a task that its user has removed is told as stopped", async () => {
    const { watch, path } = await create(user);
    await ask(user, `${path}/events`, { method: "DELETE" });
    world.task = () => said("SUCCESS");
    await ring(watch);
    expect(of("watch")).toMatchObject([{ outcome: "stopped", code: "task_succeeded" }]);
  });

  test("case 129: a task that is unknown again and again is told once, however often its user asks", async () => {
    const { watch, path } = await create(user);
    vi.setSystemTime(Date.now() + DAY);
    await ring(watch);
    await ring(watch);
    for (let times = 0; times < 3; times += 1) {
      vi.setSystemTime(Date.now() + 2 * MINUTE);
      await ask(user, path);
      await ring(watch);
    }
    expect(world.webhooks.map(({ type }) => type)).toEqual(["video.unknown"]);
    expect(of("watch")).toMatchObject([{ outcome: "lost" }]);
    world.task = () => said("SUCCESS");
    vi.setSystemTime(Date.now() + 2 * MINUTE);
    await ask(user, path);
    await ring(watch);
    expect(world.webhooks.map(({ type }) => type)).toEqual(["video.unknown", "video.succeeded"]);
  });

  test("case 126: each failed attempt of a webhook says what follows, and the last one that it is given up", async () => {
    world.app = () => new Response(null, { status: 503 });
    world.task = () => said("SUCCESS");
    const { watch, gatewayId, requestId } = await create(user);
    await ringFor(watch, 3 * DAY);
    expect(of("webhook").map(({ outcome, attempts }) => [outcome, attempts])).toEqual([
      ...Array.from({ length: 8 }, (_, index) => ["waiting", index + 1]),
      ["failed", 9],
    ]);
    for (const { nextAt, upstreamStatus } of of("webhook").slice(0, 8)) {
      expect(upstreamStatus).toBe(503);
      expect(nextAt).toBeGreaterThan(START);
    }
    const said8 = lines().match(/try (\d) of 9/g);
    expect(said8).toEqual(Array.from({ length: 8 }, (_, index) => `try ${index + 1} of 9`));
    expect(lines().match(/it is given up/g)).toHaveLength(1);
    expect(lines()).toContain(`task ${gatewayId}, request ${requestId}`);
    expect(lines()).not.toContain(user);
  });

  test("case 129: a handler that always throws is called until its end is forgotten, and that is told", async () => {
    const { watch } = await create(user);
    world.task = () => said("SUCCESS");
    world.onEnd = () => Promise.reject(new Error("a mistake of the operator"));
    await ringFor(watch, 30 * DAY);
    expect(of("watch")).toMatchObject([
      { outcome: "complete" },
      { outcome: "dropped", code: "on_end_failed" },
    ]);
    expect(await alarmOf(watch)).toBeNull();
  });
});

describe("case 127: a webhook that is given up", () => {
  /** A task whose webhook was given up. */
  async function givenUp(status = 503, ms = 3 * DAY) {
    world.app = () => new Response(null, { status });
    world.task = () => said("SUCCESS");
    const task = await create(user);
    await ringFor(task.watch, ms);
    world.app = () => new Response(null, { status: 204 });
    return task;
  }

  test("is listed without its body, and sent again with the webhook-id that it has always had", async () => {
    const { watch, gatewayId, id, requestId } = await givenUp();
    const [letter] = await lettersOf(operator.webhooks);
    expect(letter).toEqual({
      id: expect.stringMatching(/^[\da-f]{32}:webhook$/),
      ...{ name: "webhook", user, taskId: gatewayId, model: "beta3.0-video", requestId },
      ...{ attempts: 9, upstreamStatus: 503, at: expect.any(Number) },
    });
    expect(JSON.stringify(letter)).not.toContain(id);
    expect(await operator.webhooks.resend(operator.env, letter?.id ?? "")).toBe(true);
    expect(await lettersOf(operator.webhooks)).toEqual([]);
    await ring(watch);
    expect(new Set(world.webhooks.map((one) => one.id)).size).toBe(1);
    expect(of("webhook").at(-1)).toMatchObject({ outcome: "complete", attempts: 1 });
    expect(await operator.webhooks.resend(operator.env, letter?.id ?? "")).toBe(false);
  });

  test("comes back to the list where the app fails again, and stays one letter", async () => {
    const { watch } = await givenUp();
    const [letter] = await lettersOf(operator.webhooks);
    world.app = () => new Response(null, { status: 500 });
    await operator.webhooks.resend(operator.env, letter?.id ?? "");
    await ringFor(watch, 3 * DAY);
    expect(await lettersOf(operator.webhooks)).toMatchObject([{ id: letter?.id, upstreamStatus: 500 }]);
  });

  test("is kept at once where the app answers 410, which may be a mistake of its host", async () => {
    await givenUp(410);
    expect(of("webhook")).toMatchObject([{ outcome: "refused", attempts: 1, upstreamStatus: 410 }]);
    expect(await lettersOf(operator.webhooks)).toHaveLength(1);
  });

  test("is kept though the object of the letters fails at first, and though its own is lost meanwhile", async () => {
    world.hasLetters = false;
    const { watch } = await givenUp(410, MINUTE / 2);
    world.hasLetters = true;
    expect(lines()).toContain("its dead letter could not be kept");
    await evictDurableObject(watch);
    await ringFor(watch, 5 * MINUTE);
    expect(await lettersOf(operator.webhooks)).toHaveLength(1);
  });

  test("is sent again with all others since a time, in steps of 50 by an alarm", async () => {
    const before = Date.now();
    const { watch } = await givenUp(410);
    const letters = objects.letters();
    await runInDurableObject(letters, (_, { storage }) => {
      storage.sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
          INSERT INTO letters (id, user, at, letter)
          SELECT 'x' || i, 'many', ?, '{"object":"none-' || i || '","name":"webhook"}' FROM n`,
        Date.now(),
      );
      storage.sql.exec("UPDATE work SET letters = letters + 120");
    });
    await operator.webhooks.resendAll(operator.env, { since: before });
    await evictDurableObject(letters);
    let steps = 0;
    for (
      let at = await alarmOf(letters);
      at !== null && at <= Date.now() + MINUTE;
      at = await alarmOf(letters)
    ) {
      await ring(letters);
      steps += 1;
    }
    expect(steps).toBe(3);
    await ring(watch);
    expect(of("webhook").at(-1)).toMatchObject({ outcome: "complete" });
    // those whose task is forgotten are gone, too
    expect(
      (await operator.webhooks.listDeadLetters(operator.env)).letters.filter(({ at }) => at >= before),
    ).toEqual([]);
  });

  test("is forgotten after 7 days, until which its task is kept", async () => {
    const { watch } = await givenUp();
    vi.setSystemTime(Date.now() + 6 * DAY - 3 * DAY);
    const [letter] = await lettersOf(operator.webhooks);
    expect(await operator.webhooks.resend(operator.env, letter?.id ?? "")).toBe(true);
    await ringFor(watch, 30 * DAY);
    await ringFor(objects.letters(), 30 * DAY);
    expect([await alarmOf(watch), await lettersOf(operator.webhooks)]).toEqual([null, []]);
  });
});

test("case 127: more dead letters than are kept: the oldest one makes room, and that is told", async () => {
  const letters = objects.letters();
  world.app = () => new Response(null, { status: 410 });
  world.task = () => said("SUCCESS");
  for (let count = 0; count < 2; count += 1) {
    const { watch } = await create(user);
    await ringFor(watch, MINUTE);
    if (count === 0)
      await runInDurableObject(letters, (_, { storage }) => {
        storage.sql.exec("UPDATE work SET letters = 10000");
        storage.sql.exec("DELETE FROM letters WHERE user != ?", user);
      });
  }
  expect(of("webhook").at(-1)).toMatchObject({ outcome: "dropped", code: "dead_letters_full", user });
  expect(await lettersOf(operator.webhooks)).toHaveLength(1);
});

test("case 131: what is kept of a user is exported, and erased: watches and letters", async () => {
  const { userData } = events;
  world.app = () => new Response(null, { status: 410 });
  world.task = () => said("SUCCESS");
  const ended = await create(user);
  await ringFor(ended.watch, MINUTE);
  world.task = () => said("QUEUED");
  const running = await create(user);
  await ring(running.watch);
  const other = await create("someone else");

  expect(await userData?.exportUser(operator.env, user)).toMatchObject([
    { id: ended.id, user, state: "succeeded", task: { data: { status: "SUCCESS" } } },
    { id: running.id, user, task: { data: { status: "QUEUED" } } },
  ]);
  expect(await lettersOf(operator.webhooks)).toHaveLength(1);

  world.events.length = 0;
  for (const _ of ["once", "again"]) await userData?.eraseUser(operator.env, user);
  expect(world.events).toMatchObject([
    { kind: "watch", taskId: running.gatewayId, outcome: "stopped", code: "user_erased" },
  ]);
  expect(await userData?.exportUser(operator.env, user)).toEqual([]);
  expect(await lettersOf(operator.webhooks)).toEqual([]);
  for (const object of [ended.watch, running.watch]) expect(await alarmOf(object)).toBeNull();
  expect(await alarmOf(other.watch)).not.toBeNull();
});

test.each(["a poll", "a webhook"])(
  "case 131: a user who is erased while %s is under way is not written again",
  async (what) => {
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { watch } = await create(user);
    world.task = () => said("SUCCESS");
    let isAsked = false;
    const hold = async (response: Response) => {
      isAsked = true;
      await held;
      return response;
    };
    if (what === "a poll") world.task = () => hold(said("QUEUED"));
    else {
      await ring(watch);
      world.app = () => hold(new Response(null, { status: 500 }));
    }
    const ringing = ring(watch);
    await expect.poll(() => isAsked).toBe(true);
    await events.userData?.eraseUser(operator.env, user);
    answer();
    await ringing;
    expect(await events.userData?.exportUser(operator.env, user)).toEqual([]);
    expect(await alarmOf(watch)).toBeNull();
    expect(await runInDurableObject(watch, (_, { storage }) => storage.get("task"))).toBeUndefined();
    expect(of("watch").at(-1)).toMatchObject({ outcome: "stopped", code: "user_erased" });
    const dropped = { outcome: "dropped", code: "user_erased", upstreamStatus: 500 };
    expect(of("webhook")).toMatchObject(what === "a poll" ? [] : [dropped]);
    expect(lines()).not.toContain("try 1");
  },
);
