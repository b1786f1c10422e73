import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { ObjectNamespace, ObjectState } from "@sluice/durable";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { eraseIn, type UserIndex, userIndexIn, withUserIndex } from "../src/objects/user-index.js";
import { workerdTest } from "./support/platform.js";
import { countedState, type Rows } from "./support/rows.js";

const START = Date.UTC(2040, 0, 1);
const HOUR = 3_600_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: START }));
afterEach(() => {
  lost.at = Infinity;
  vi.useRealTimers();
  vi.restoreAllMocks();
});

interface Opened {
  readonly index: UserIndex;
  readonly rows: Rows;
  readonly state: ObjectState;
  /** Opens the object anew, as after an eviction. */
  evict(): void;
  /** Lets the time of the alarm come, and rings it; false where there is none. */
  ring(): Promise<boolean>;
}

/** A process that is lost at its n-th call of `getAlarm` or `setAlarm`: the call never ends. */
const lost = { at: Infinity };
async function callOfAlarm(): Promise<void> {
  lost.at -= 1;
  if (lost.at < 0) await new Promise(() => {});
}

/** Runs with the index of a user, in an object of its own whose alarm is the test's. */
async function withIndex<T>(name: string, run: (opened: Opened) => Promise<T>): Promise<T> {
  const object = env.BUDGET.get(env.BUDGET.idFromName(`index ${name}`));
  return await runInDurableObject(object, async (_, given) => {
    let alarmAt: number | null = null;
    const storage = new Proxy(given.storage, {
      get(target, member) {
        if (member === "setAlarm")
          return async (at: number) => {
            alarmAt = at;
            await callOfAlarm();
          };
        if (member === "getAlarm")
          return async () => {
            await callOfAlarm();
            return alarmAt;
          };
        const value: unknown = Reflect.get(target, member);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const { state, rows } = countedState({ ...given, storage } as unknown as ObjectState);
    const open = () =>
      withUserIndex(state, () => ({
        fetch: async () => new Response("something else"),
        alarm: async () => {},
      }));
    let handlers = open();
    const namespace = {
      idFromName: (asked: string) => asked,
      get: () => ({ fetch: (request: Request) => handlers.fetch(request) }),
    };
    return await run({
      index: userIndexIn(namespace as unknown as ObjectNamespace, name),
      rows,
      state,
      evict() {
        handlers = open();
      },
      async ring() {
        if (alarmAt === null) return false;
        vi.setSystemTime(Math.max(Date.now(), alarmAt));
        alarmAt = null;
        await handlers.alarm();
        return true;
      },
    });
  });
}

const claimOf = (id: string, mostOpen = 2) => ({ id, mostOpen, endsAt: Date.now() + HOUR });

describe("a place of a user", () => {
  test("is refused beyond the most, given back by an end, and taken once by a claim that is repeated", async () => {
    await withIndex("places", async ({ index, evict }) => {
      expect([await index.claim(claimOf("a")), await index.claim(claimOf("b"))]).toEqual([true, true]);
      expect(await index.claim(claimOf("a"))).toBe(true);
      evict();
      expect(await index.claim(claimOf("c"))).toBe(false);
      await index.end({ id: "a", keptUntil: Date.now() + HOUR });
      expect([await index.claim(claimOf("c")), await index.claim(claimOf("d"))]).toEqual([true, false]);
      await index.forget(["b"]);
      expect(await index.claim(claimOf("d"))).toBe(true);
      expect(await index.list()).toEqual(["a", "c", "d"]);
    });
  });

  test("is free again after its deadline, also where nobody asks, with a line in the log", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    await withIndex("deadline", async ({ index, ring, state }) => {
      for (const id of ["a", "b"]) await index.claim(claimOf(id));
      vi.setSystemTime(START + HOUR);
      expect(await index.claim(claimOf("c"))).toBe(true);
      await ring();
      expect(await index.list()).toEqual(["c"]);
      expect(log.mock.calls.join()).toContain("2 objects of a user never said");
      await index.end({ id: "c", keptUntil: Date.now() + HOUR });
      await ring();
      while (await ring());
      expect(
        state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'userObjects'").toArray(),
      ).toEqual([]);
    });
  });

  test("Of 1,200 that are lost, each is free after a few alarms, and one that works keeps its place", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    await withIndex("many lost", async ({ index, ring, state, evict }) => {
      await index.claim(claimOf("lost"));
      state.storage.sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
          INSERT INTO userObjects SELECT 'lost ' || i, 1, ? FROM n`,
        Date.now() + HOUR,
      );
      vi.setSystemTime(START + HOUR / 2);
      await index.claim({ id: "works", endsAt: Date.now() + HOUR });
      for (let rings = 0; rings < 2; rings += 1) await ring();
      evict();
      await ring();
      expect(await index.list()).toEqual(["works"]);
      while (await ring());
      expect(await index.list()).toEqual([]);
    });
  });

  test("Only as many claims at once are taken as there are places", async () => {
    await withIndex("at once", async ({ index }) => {
      const taken = await Promise.all(
        Array.from({ length: 20 }, (_, nth) => index.claim(claimOf(`${nth}`, 5))),
      );
      expect(taken.filter(Boolean)).toHaveLength(5);
    });
  });
});

test("Objects beyond the most are named, the oldest first to go, until they are forgotten", async () => {
  await withIndex("kept", async ({ index }) => {
    const end = (nth: number) => index.end({ id: `${nth}`, keptUntil: Date.now() + HOUR + nth, mostKept: 3 });
    for (const nth of [1, 2, 3]) expect(await end(nth)).toEqual([]);
    expect(await end(4)).toEqual(["1"]);
    expect(await end(5)).toEqual(["2", "1"]);
    await index.forget(["1", "2"]);
    expect(await end(5)).toEqual([]);
  });
});

workerdTest(
  "An index that is only read or forgotten leaves nothing behind, and one whose objects are erased is empty",
  async () => {
    await withIndex("clear", async ({ index, rows, state }) => {
      expect(await index.list()).toEqual([]);
      await index.forget(["a"]);
      expect(await index.claim(claimOf("a", 0))).toBe(false);
      expect(rows.written).toBe(0);
      for (let nth = 0; nth < 150; nth += 1)
        await index.end({ id: `${1000 + nth}`, keptUntil: Date.now() + HOUR });
      const first = await index.list();
      const second = await index.list(first.at(-1));
      expect([first.length, second.length, second[0]]).toEqual([100, 50, "1100"]);
      const erased: string[] = [];
      await expect(
        eraseIn(index, async (id) => {
          erased.push(id);
          if (id === "1003") throw new Error("its meter fails");
        }),
      ).rejects.toThrow("1 objects of a user could not be erased");
      expect([erased.length, await index.list()]).toEqual([150, ["1003"]]);
      await eraseIn(index, async () => {});
      expect(await index.list()).toEqual([]);
      expect(
        state.storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'userObjects'").toArray(),
      ).toEqual([]);
    });
  },
);

test.each([0, 1, 2])(
  "case 166: an object that is lost at call %i of its alarm leaves no row without an alarm",
  async (calls) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    await withIndex(`lost ${calls}`, async ({ index, evict, ring, state }) => {
      lost.at = calls;
      const claim = index.claim(claimOf("a"));
      await Promise.race([claim, vi.waitUntil(() => lost.at < 0)]);
      lost.at = Infinity;
      evict();
      while (await ring());
      const tables = state.storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'userObjects'");
      expect(tables.toArray()).toEqual([]);
    });
  },
);

test("an object of the class that is no index keeps its own tables and their version", async () => {
  await withIndex("other", async ({ state, evict, ring }) => {
    const { sql } = state.storage;
    sql.exec("CREATE TABLE version (id INTEGER PRIMARY KEY, number INTEGER)");
    sql.exec("INSERT INTO version VALUES (1, 7)");
    evict();
    await state.storage.setAlarm(START);
    expect(await ring()).toBe(true);
    expect(sql.exec("SELECT number FROM version").toArray()).toEqual([{ number: 7 }]);
  });
});

workerdTest.each([0, 1000, 100_000])(
  "the work for an object stays the same beside %i others",
  async (stored) => {
    const used = await withIndex(`beside ${stored}`, async ({ index, rows, state, ring }) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      await index.end({ id: "first", keptUntil: Date.now() + HOUR });
      state.storage.sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO userObjects SELECT 'f' || i, i % 2, ?2 + i FROM n WHERE ?1 > 0`,
        stored,
        Date.now() + HOUR,
      );
      const usedBy = async (act: () => Promise<unknown>) => {
        const before = { ...rows };
        await act();
        return { read: rows.read - before.read, written: rows.written - before.written };
      };
      const claim = await usedBy(() =>
        index.claim({ id: "new", mostOpen: 100_001, endsAt: Date.now() + HOUR }),
      );
      const unlimited = await usedBy(() => index.claim({ id: "any", endsAt: Date.now() + HOUR }));
      const refused = await usedBy(() => index.claim({ id: "more", mostOpen: 1, endsAt: Date.now() + HOUR }));
      const end = await usedBy(() => index.end({ id: "any", keptUntil: Date.now() + HOUR, mostKept: 20 }));
      const alarm = await usedBy(ring);
      return { claim, unlimited, refused, end, alarm };
    });
    expect(used.unlimited.read).toBeLessThanOrEqual(6);
    expect(used.unlimited.written).toBeLessThanOrEqual(3);
    expect(used.refused).toMatchObject({ written: 0 });
    expect(used.refused.read).toBeLessThanOrEqual(6);
    expect(used.end.read).toBeLessThanOrEqual(40);
    expect(used.end.written).toBeLessThanOrEqual(3);
    // as many as one alarm deletes
    expect(used.alarm.read).toBeLessThanOrEqual(5010);
  },
);
