import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { ObjectState } from "@sluice/durable";
import type { JobEvent } from "@sluice/worker-proxy";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { SubscriptionParts } from "../src/notices/push/push-delivery.js";
import { openSubscriptions } from "../src/notices/push/subscriptions.js";
import { withUserIndex } from "../src/objects/user-index.js";
import {
  alarmOf,
  ask,
  browser,
  create,
  objects,
  operator,
  push,
  ring,
  ringFor,
  said,
  subscribe,
  world,
} from "./support/notices.js";
import { workerdTest } from "./support/platform.js";
import { countedState } from "./support/rows.js";

const DAY = 86_400_000;
let tests = 0;
let [ann, bob] = ["", ""];
/** A browser of this test. */
let phone = "";
const log = vi.spyOn(console, "error");

beforeEach(() => {
  // a time that never comes by itself: alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1) + ++tests * 200 * DAY });
  log.mockImplementation(() => {});
  [ann, bob, phone] = [`ann-${tests}`, `bob-${tests}`, `phone-${tests}`];
  world.reset();
  world.task = () => said("SUCCESS");
});
afterEach(() => {
  vi.useRealTimers();
  log.mockReset();
});

/** The end of a new task of a user, with its pushes. */
async function notifyOf(user: string) {
  const { watch, gatewayId } = await create(user);
  await ring(watch);
  await ring(watch);
  await ringFor(await objects.push(user), 60_000);
  return gatewayId;
}
const pushEvents = () => world.events.filter(({ kind }) => kind === "push");
const address = () => `https://fcm.googleapis.com/${phone}`;

describe("case 128: a browser belongs to the user who subscribed it last", () => {
  test("the notices of the user before end, and say so", async () => {
    await subscribe(ann, phone);
    await subscribe(bob, phone);
    const id = await notifyOf(ann);
    expect(world.pushes).toEqual([]);
    expect(pushEvents()).toMatchObject([
      { outcome: "dropped", code: "subscription_moved", taskId: id, user: ann },
    ]);
    await notifyOf(bob);
    expect(world.pushes).toEqual([address()]);
  });

  test("A notice that is already on its way does not reach the next user", async () => {
    world.service = () => new Response(null, { status: 503 });
    await subscribe(ann, phone);
    const { watch } = await create(ann);
    await ring(watch);
    await ring(watch);
    const object = await objects.push(ann);
    await ring(object);
    expect(pushEvents()).toMatchObject([{ outcome: "waiting", upstreamStatus: 503, attempts: 1 }]);
    await subscribe(bob, phone);
    world.service = () => new Response(null, { status: 201 });
    await ringFor(object, 60_000);
    expect(world.pushes).toEqual([]);
    expect(pushEvents().at(-1)).toMatchObject({ outcome: "dropped", code: "subscription_moved" });
  });

  test("also where the next user's subscribing broke off after its first step, and where both come at once", async () => {
    const id = await subscribe(ann, phone);
    await runInDurableObject(await objects.push(bob), async (instance, { storage }) => {
      const fetch = vi.spyOn(instance, "fetch").mockRejectedValue(new Error("lost"));
      expect((await ask(bob, "/v1/notifications", { body: browser(phone) })).status).toBe(503);
      fetch.mockRestore();
      expect(await storage.getAlarm()).toBeNull();
    });
    await notifyOf(ann);
    expect(world.pushes).toEqual([]);

    await Promise.all([ann, bob, ann, bob].map((user) => subscribe(user, phone)));
    await evictDurableObject(await objects.owner(id));
    // one after the other: both move the one clock
    await notifyOf(ann);
    await notifyOf(bob);
    // one of them has it, and only one
    expect(world.pushes).toEqual([address()]);
  });

  test("until that one ends it: it does not fall back to the user before", async () => {
    await subscribe(ann, phone);
    const id = await subscribe(bob, phone);
    await ask(bob, `/v1/notifications/${id}`, { method: "DELETE" });
    await notifyOf(ann);
    await notifyOf(bob);
    expect(world.pushes).toEqual([]);
    await subscribe(ann, phone);
    await notifyOf(ann);
    expect(world.pushes).toEqual([address()]);
  });

  test("case 166: the user before has it in no export any more, and its notices say why they end", async () => {
    world.service = () => new Response(null, { status: 503 });
    const id = await subscribe(ann, phone);
    await notifyOf(ann);
    const exported = async (user: string) =>
      (await push.userData?.exportUser(operator.env, user)) as { subscriptions: object[] };
    expect((await exported(ann)).subscriptions).toMatchObject([{ id, endpoint: address() }]);
    await subscribe(bob, phone);
    expect((await exported(ann)).subscriptions).toEqual([]);
    expect((await exported(bob)).subscriptions).toMatchObject([{ id, endpoint: address() }]);
    expect(pushEvents().at(-1)).toMatchObject({ outcome: "dropped", code: "subscription_moved", user: ann });
    const left = await runInDurableObject(await objects.push(ann), (_, { storage }) =>
      storage.sql.exec("SELECT id FROM subscriptions").toArray(),
    );
    expect(left).toEqual([]);
  });

  test("A user who ends or erases does not end the notices of the next user of the browser", async () => {
    const id = await subscribe(ann, phone);
    await subscribe(bob, phone);
    await ask(ann, `/v1/notifications/${id}`, { method: "DELETE" });
    await notifyOf(bob);
    expect(world.pushes).toEqual([address()]);
  });
});

describe("case 128: a subscription", () => {
  test("ends after 60 days without a page, and what is left of it goes", async () => {
    const id = await subscribe(ann, phone);
    vi.setSystemTime(Date.now() + 61 * DAY);
    await ringFor(await objects.push(ann), 10 * DAY);
    await ringFor(await objects.owner(id), 10 * DAY);
    await notifyOf(ann);
    expect([world.pushes, pushEvents()]).toEqual([[], []]);
    expect(await alarmOf(await objects.owner(id))).toBeNull();
  });

  test("lives on where a page subscribes again, which writes nothing more than once a day", async () => {
    await subscribe(ann, phone);
    for (let days = 0; days < 100; days += 10) {
      vi.setSystemTime(Date.now() + 10 * DAY);
      await subscribe(ann, phone);
    }
    await ringFor(await objects.push(ann), DAY);
    await notifyOf(ann);
    expect(world.pushes).toEqual([address()]);
  });

  test("A subscription that its push service has forgotten is reported as gone, with the notices on their way", async () => {
    await subscribe(ann, phone);
    world.service = () => new Response(null, { status: 410 });
    await notifyOf(ann);
    expect(pushEvents()).toMatchObject([{ outcome: "refused", upstreamStatus: 410 }]);
    await notifyOf(ann);
    expect(pushEvents()).toHaveLength(1);
  });
});

test("case 129: a push service that fails is told at each attempt, until the notice is given up", async () => {
  await subscribe(ann, phone);
  world.service = () => Promise.reject(new TypeError("no route"));
  const { watch, gatewayId, requestId } = await create(ann);
  await ring(watch);
  await ring(watch);
  await ringFor(await objects.push(ann), 10 * 3_600_000);
  expect(pushEvents().map(({ outcome, attempts, code }) => [outcome, attempts, code])).toEqual([
    ...[1, 2, 3, 4, 5].map((attempts) => ["waiting", attempts, "unreachable"]),
    ["failed", 6, "unreachable"],
  ]);
  const lines = log.mock.calls.flat().join("\n");
  expect(lines).toContain("fcm.googleapis.com could not be reached; try 1 of 6 (notice ");
  expect(lines).toContain(`task ${gatewayId}, request ${requestId})`);
  expect(lines).not.toContain(phone);
  expect(lines).not.toContain(ann);
});

/** The object of a user, with a push service that takes all; in an object of the platform's that has no class of its own. */
async function withObject<T>(
  name: string,
  run: (object: ReturnType<typeof openObject>) => Promise<T>,
): Promise<T> {
  // its own class creates no table before it is asked
  const object = env.BUDGET.get(env.BUDGET.idFromName(`push ${name}`));
  return await runInDurableObject(object, (_, state) => run(openObject(state)));
}

interface Opened {
  readonly add: (id: string) => Promise<Response>;
  readonly alarm: () => Promise<void>;
}

function openObject(given: ObjectState) {
  const { state, rows } = countedState(given);
  const sent: string[] = [];
  const reported: JobEvent[] = [];
  const parts: SubscriptionParts = {
    ...{ mostSubscriptions: 8, subscriptionMs: 60 * DAY, services: ["fcm.googleapis.com"] },
    async send({ endpoint }) {
      sent.push(endpoint);
      return { status: 201, retryAfterMs: 0 };
    },
    ownerOf: async (id) => (id === "older" ? undefined : "own"),
    keepLetter: async () => {},
    report: (event) => void reported.push(event),
  };
  const object = openSubscriptions(state, parts);
  const post = (body: object) =>
    object.fetch(
      new Request("https://push.invalid/", {
        method: "POST",
        body: JSON.stringify({ name: "own", ...body }),
      }),
    );
  return {
    sql: given.storage.sql,
    state: given,
    sent,
    reported,
    /** Opens the same rows, as after an eviction. */
    again: (): Opened => openObject(given),
    alarm: () => object.alarm(),
    post,
    add: (id: string) => post({ do: "add", id, target: { ...browser(id) } }),
    notify: (id: string) => post({ do: "notify", id, notice: "{}", facts: { user: "ann" } }),
    async usedBy(act: () => Promise<unknown>) {
      const before = { ...rows };
      await act();
      return { read: rows.read - before.read, written: rows.written - before.written };
    },
  };
}

describe("case 130: the work for a notice does not grow with what is stored", () => {
  workerdTest.each([0, 1000, 100_000])(
    "it reads a few rows beside %i notices, deliveries and subscriptions",
    async (stored) => {
      const used = await withObject(
        `rows ${stored}`,
        async ({ add, notify, post, alarm, usedBy, sql, sent }) => {
          await add("first");
          const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)";
          sql.exec(
            `${numbers} INSERT INTO notices SELECT 'n' || i, '{}', ?2 + i, '{}' FROM n WHERE ?1 > 0`,
            stored,
            Date.now() + DAY,
          );
          sql.exec(
            `${numbers} INSERT INTO deliveries SELECT 'n' || i, 'first', 1, ?2 + i, NULL, NULL FROM n WHERE ?1 > 0`,
            stored,
            Date.now() + DAY,
          );
          const notice = await usedBy(() => notify("new"));
          const delivery = await usedBy(alarm);
          expect(sent).toEqual(["https://fcm.googleapis.com/first"]);
          const renewal = await usedBy(() => add("first"));
          const removal = await usedBy(() => post({ do: "cancel", id: "new" }));
          vi.setSystemTime(Date.now() + 3 * DAY);
          const old = await usedBy(alarm);
          return { notice, delivery, renewal, removal, old };
        },
      );
      expect(used.notice.read).toBeLessThanOrEqual(14);
      expect(used.notice.written).toBeLessThanOrEqual(9);
      expect(used.delivery.read).toBeLessThanOrEqual(20);
      expect(used.delivery.written).toBeLessThanOrEqual(9);
      expect(used.renewal.written).toBe(0);
      expect(used.renewal.read).toBeLessThanOrEqual(12);
      expect(used.removal.read).toBeLessThanOrEqual(12);
      // an alarm sends and forgets 50 at a time
      expect(used.old.read).toBeLessThanOrEqual(900);
    },
  );

  test("each of 120 notices on their way to a browser that is forgotten is reported", async () => {
    const events = await withObject("forgotten", async ({ add, notify, post, reported }) => {
      await add("first");
      for (let nth = 0; nth < 120; nth += 1) await notify(`n-${nth}`);
      await post({ do: "remove", id: "first" });
      return reported;
    });
    expect(new Set(events.map(({ id }) => id)).size).toBe(120);
    expect(new Set(events.map(({ outcome, code }) => `${outcome} ${code}`))).toEqual(
      new Set(["dropped unsubscribed"]),
    );
  });

  test("a notice beyond the most of a user is refused, and told by the one who sends it", async () => {
    const status = await withObject("most", async ({ add, notify, sql }) => {
      await add("first");
      sql.exec("UPDATE known SET notices = 1000");
      return (await notify("one too many")).status;
    });
    expect(status).toBe(507);
    await subscribe(ann, phone);
    await runInDurableObject(await objects.push(ann), (_, { storage }) => {
      storage.sql.exec("UPDATE known SET notices = 1000");
    });
    const id = await notifyOf(ann);
    expect(pushEvents()).toMatchObject([
      { outcome: "dropped", code: "too_many_notices", taskId: id, user: ann },
    ]);
  });
});

/** Tables as the version before this one wrote them. */
const OLDER = [
  "CREATE TABLE IF NOT EXISTS subscriptions (id TEXT PRIMARY KEY, target TEXT, addedAt INTEGER)",
  "CREATE TABLE IF NOT EXISTS notices (id TEXT PRIMARY KEY, body TEXT, until INTEGER)",
  `CREATE TABLE IF NOT EXISTS deliveries (notice TEXT, subscription TEXT, tries INTEGER, nextAt INTEGER,
      PRIMARY KEY (notice, subscription))`,
];

test("case 130: subscriptions and notices of an earlier version stay, and are sent", async () => {
  await withObject("older rows", async ({ sql, alarm, sent, notify, add }) => {
    for (const statement of OLDER) sql.exec(statement);
    const later = Date.now() + DAY;
    sql.exec(
      "INSERT INTO subscriptions VALUES ('older', ?, ?)",
      JSON.stringify(browser("older")),
      Date.now(),
    );
    sql.exec("INSERT INTO notices VALUES ('on its way', '{}', ?), ('sent', '{}', ?)", later, later);
    sql.exec("INSERT INTO deliveries VALUES ('on its way', 'older', 1, ?)", Date.now());
    await alarm();
    expect(sent).toEqual(["https://fcm.googleapis.com/older"]);
    await notify("sent");
    await notify("next");
    await alarm();
    expect(sent).toHaveLength(2);
    await add("newer");
    await notify("last");
    await alarm();
    expect(sent).toHaveLength(4);
  });
});

test("case 130: rows of a later version are not read and not changed", async () => {
  await withObject("later rows", async ({ sql, add, again }) => {
    await add("first");
    sql.exec("UPDATE version SET number = 99");
    await expect(again().add("second")).rejects.toThrow("deploy the newer one");
    await expect(again().alarm()).rejects.toThrow("deploy the newer one");
    expect(sql.exec("SELECT id FROM subscriptions").toArray()).toEqual([{ id: "first" }]);
  });
});

test("case 130: an object that was lost knows by its tables what it is: none is taken for the index of a user", async () => {
  await withObject("kinds", async ({ add, state }) => {
    await add("first");
    const opened = vi.fn(() => ({ fetch: async () => new Response(), alarm: async () => {} }));
    withUserIndex(state, opened);
    expect(opened).toHaveBeenCalled();
  });
});
