import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import type { ObjectState } from "@sluice/durable";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withDeadLetters } from "../src/notices/dead-letter-object.js";
import { alarmOf, ask, create, objects, operator, ring, said, world } from "./support/notices.js";
import { workerdTest } from "./support/platform.js";
import { countedState } from "./support/rows.js";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
let tests = 0;
let user = "";
const log = vi.spyOn(console, "error");

beforeEach(() => {
  // a time that never comes by itself: alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1) + ++tests * 200 * DAY });
  vi.spyOn(Math, "random").mockReturnValue(0);
  log.mockImplementation(() => {});
  user = `user-${tests}`;
  world.reset();
});
afterEach(() => {
  vi.useRealTimers();
  log.mockReset();
});

/** A watch as the version before this one stored it: of a created task, after two polls. */
const older = (gatewayId: string, more: object = {}) => ({
  id: gatewayId,
  created: { userId: user, sentId: `${gatewayId}.mark`, model: "beta3.0-video" },
  isSteady: true,
  startedAt: Date.now() - 30_000,
  lastReaderAt: Date.now() - 30_000,
  askedAt: Date.now() - 15_000,
  seq: 1,
  envelope: JSON.stringify({ code: "success", data: { status: "SUCCESS" } }),
  answers: 2,
  failures: 0,
  unreadable: 0,
  nextAt: Date.now(),
  ...more,
});

async function store(gatewayId: string, task: object) {
  const watch = await objects.watch(user, gatewayId);
  await runInDurableObject(watch, async (_, { storage }) => {
    await storage.put("task", task);
    await storage.setAlarm(Date.now());
  });
  await evictDurableObject(watch);
  return watch;
}

test("case 130: a watch of an earlier version goes on, and its end is told", async () => {
  const watch = await store("older-1", older("older-1"));
  world.task = () => said("SUCCESS");
  await ring(watch);
  await ring(watch);
  expect(world.webhooks).toMatchObject([{ type: "video.succeeded", task: "older-1.mark" }]);
  expect(world.events).toMatchObject([
    { kind: "watch", outcome: "complete", attempts: 3, user },
    { kind: "webhook", outcome: "complete" },
  ]);
});

test("case 130: the notices of an end that an earlier version stored go on where they were", async () => {
  const end = { at: Date.now() - MINUTE, keepUntil: Date.now() + 7 * DAY };
  const progress = { webhook: { tries: 8, nextAt: Date.now() } };
  const watch = await store("older-2", older("older-2", { end, progress, isDone: false }));
  world.app = () => new Response(null, { status: 503 });
  await ring(watch);
  expect(world.events).toMatchObject([{ kind: "webhook", outcome: "failed", attempts: 9 }]);
  const { letters } = await operator.webhooks.listDeadLetters(operator.env);
  expect(letters.filter((letter) => letter.user === user)).toHaveLength(1);
});

test("case 130: a watch of a later version is not read and not changed, and goes on when its Worker is back", async () => {
  const { watch, path, gatewayId } = await create(user);
  const later = await runInDurableObject(watch, async (_, { storage }) => {
    const task = { ...((await storage.get("task")) as object), version: 99, unknown: "field" };
    await storage.put("task", task);
    return task;
  });
  await evictDurableObject(watch);
  expect((await ask(user, path)).status).toBe(503);
  await ring(watch);
  expect(await runInDurableObject(watch, (_, { storage }) => storage.get("task"))).toEqual(later);
  expect(await alarmOf(watch)).toBe(Date.now() + 5 * MINUTE);
  await store(gatewayId, { ...later, version: 2 });
  world.task = () => said("SUCCESS");
  await ring(watch);
  expect(world.events).toMatchObject([{ kind: "watch", outcome: "complete" }]);
});

workerdTest.each([0, 1000, 9_990])(
  "case 130: a dead letter reads and writes a few rows beside %i",
  async (stored) => {
    const letters = objects.letters();
    const used = await runInDurableObject(letters, async (_, given) => {
      given.storage.sql.exec("DROP TABLE IF EXISTS letters");
      for (const name of ["work", "version"]) given.storage.sql.exec(`DROP TABLE IF EXISTS ${name}`);
      const { state, rows } = countedState(given as ObjectState);
      const none = { fetch: async () => new Response(), alarm: async () => {} };
      const object = withDeadLetters(none, state, {
        report: () => {},
        namespace: () =>
          ({
            idFromName: () => "",
            get: () => ({ fetch: async () => new Response(null, { status: 204 }) }),
          }) as never,
      });
      const post = (body: object) =>
        object.fetch(
          new Request("https://dead-letters.invalid/", { method: "POST", body: JSON.stringify(body) }),
        );
      const keep = (id: string) =>
        post({ do: "keep", letter: { id, user, object: "o", name: "webhook", attempts: 1, at: Date.now() } });
      await keep("first");
      given.storage.sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO letters (id, user, at, letter) SELECT 'x' || i, 'many', ?2, '{"object":"o"}' FROM n WHERE ?1 > 0`,
        stored,
        Date.now(),
      );
      given.storage.sql.exec("UPDATE work SET letters = letters + ?", stored);
      const usedBy = async (act: () => Promise<unknown>) => {
        const before = { ...rows };
        await act();
        return { read: rows.read - before.read, written: rows.written - before.written };
      };
      const kept = await usedBy(() => keep("new"));
      const resent = await usedBy(() => post({ do: "resend", id: "new" }));
      const listed = await usedBy(() => post({ do: "list", after: 0 }));
      await post({ do: "resendAll", since: 0 });
      const step = await usedBy(() => object.alarm());
      for (const name of ["letters", "work", "version"]) given.storage.sql.exec(`DROP TABLE ${name}`);
      return { kept, resent, listed, step };
    });
    expect(used.kept.read).toBeLessThanOrEqual(12);
    expect(used.kept.written).toBeLessThanOrEqual(8);
    expect(used.resent.read).toBeLessThanOrEqual(16);
    expect(used.listed.read).toBeLessThanOrEqual(110);
    expect(used.listed.written).toBeLessThanOrEqual(1);
    expect(used.step.read).toBeLessThanOrEqual(50 * 10 + 20);
  },
);
