import { runInDurableObject } from "cloudflare:test";
import type { ObjectState } from "@sluice/durable";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Rows } from "../../../../packages/durable/test/support/rows.js";
import { listed, message, objectFor, openUser, unseen } from "./support/conversations.js";

/* The cost of one step beside a hundred thousand others, in rows. */

const START = Date.UTC(2042, 0, 1);
const MANY = 100_000;
let tests = 0;
let user = "";

beforeEach(() => {
  user = `cyd-${++tests}`;
  vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => void vi.useRealTimers());

/** Runs in an object. */
async function inObject<T>(id: string, work: (state: ObjectState, rows: Rows) => T): Promise<T> {
  return (await runInDurableObject(await objectFor(id, user), (object, state) =>
    work(state as unknown as ObjectState, (object as unknown as { rows: Rows }).rows),
  )) as T;
}

/** Rows that an object reads and writes while something is done. */
async function rowsOf(id: string, work: () => Promise<unknown>): Promise<Rows> {
  const before = await inObject(id, (_, rows) => ({ ...rows }));
  await work();
  const after = await inObject(id, (_, rows) => ({ ...rows }));
  return { read: after.read - before.read, written: after.written - before.written };
}

const NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)";

/** Puts many records into an object as if they had been written one by one. */
const fill = (id: string, value: string) =>
  inObject(id, ({ storage: { sql } }) => {
    const [state] = sql.exec("SELECT version FROM state").toArray();
    const from = Number(state?.["version"]);
    sql.exec(
      `${NUMBERS} INSERT INTO records SELECT ? + i, 'k-' || i, 100, replace(?, '#', i) FROM n`,
      MANY,
      from,
      value,
    );
    sql.exec(
      "UPDATE state SET version = version + ?, records = records + ?, noted = version + ?",
      MANY,
      MANY,
      MANY,
    );
  });

/** Puts many removed records in. */
const fillRemoved = (id: string) =>
  inObject(id, ({ storage: { sql } }) => {
    sql.exec(
      `${NUMBERS} INSERT INTO removed SELECT (SELECT version FROM state) + i, 'r-' || i, 40, ? FROM n`,
      9_000,
      START,
    );
    sql.exec("UPDATE state SET version = version + 9000, removals = removals + 9000, noted = version + 9000");
  });

/** Puts many conversations and texts into the index of a user. */
const fillIndex = () =>
  inObject("~index", ({ storage: { sql } }) => {
    sql.exec(`${NUMBERS} INSERT INTO threads SELECT 't-' || i, 2048, 1, ?, 0 FROM n`, MANY, START);
    sql.exec(`${NUMBERS} INSERT INTO leaving SELECT 'l-' || i, ? FROM n`, MANY, START);
    sql.exec(
      `${NUMBERS} INSERT INTO docs (id, key, title, text, at)
        SELECT 't-' || i, 'm', '', 'the otter number ' || i || ' swims in the river', 0 FROM n`,
      MANY,
    );
    sql.exec("INSERT INTO search (rowid, title, text) SELECT doc, title, text FROM docs WHERE key = 'm'");
  });

/** The rows of one step in a small object, and in one with many others. */
async function sideBySide(
  id: string,
  step: (user: ReturnType<typeof openUser>) => Promise<unknown>,
  fillIt: (id: string) => Promise<unknown>,
  prepare: (user: ReturnType<typeof openUser>) => Promise<unknown> = async () => {},
) {
  const measure = async (isFilled: boolean) => {
    user = `${user}+`;
    const own = openUser(user);
    await own.write(id, unseen({ first: message("first words"), second: message("second") }));
    await prepare(own);
    if (isFilled) await fillIt(id);
    return await rowsOf(id, () => step(own));
  };
  return { small: await measure(false), large: await measure(true) };
}

const json = JSON.stringify(message("number #"));

/** Rows that a conversation reads and writes in one step, and those of the index of its user. */
const FIGURES = {
  "a lease": [3, 1, 0, 0],
  "a new record": [4, 4, 0, 0],
  "a change of a record": [7, 3, 0, 0],
  "a read of the difference": [5, 0, 0, 0],
  "a note of two texts": [25, 1, 6, 10],
  "a search": [0, 0, 3, 0],
};

test("An answer of 30 s that a page writes once a second reads and writes a bounded number of rows", async () => {
  const { write, lease, ring } = openUser(user);
  await write("c-1", unseen({ a: message("A first text of some words") }));
  await ring("c-1");
  let index: Rows | undefined;
  const own = await rowsOf("c-1", async () => {
    index = await rowsOf("~index", async () => {
      await lease("c-1", "device-a");
      let { json } = await write("c-1", unseen({ q: message("A question"), answer: message("word") }));
      for (let second = 1; second <= 30; second += 1) {
        vi.setSystemTime(Date.now() + 1000);
        const value = message(Array.from({ length: second * 10 }, (_, nth) => `word ${nth}`).join(" "));
        ({ json } = await write("c-1", { answer: { value, seen: json.version } }));
        if (second % 10 !== 0) continue;
        await lease("c-1", "device-a");
        // with a note to the index
        await ring("c-1");
      }
    });
  });
  const use = {
    read: own.read + (index?.read ?? 0),
    written: own.written + (index?.written ?? 0),
  };
  expect(use.read).toBeLessThanOrEqual(450);
  expect(use.written).toBeLessThanOrEqual(200);
});

test("The rows of each step are those of the table", async () => {
  const { write, lease, read, ring, search } = openUser(user);
  const { json: first } = await write("c-1", unseen({ a: message("A first text of some words") }));
  await ring("c-1");
  const steps: Record<keyof typeof FIGURES, () => Promise<unknown>> = {
    "a lease": () => lease("c-1", "device-a"),
    "a new record": () => write("c-1", unseen({ b: message("A second text of some words") })),
    "a change of a record": () =>
      write("c-1", { a: { value: message("It was changed"), seen: first.version } }),
    "a read of the difference": () => read("c-1", `?since=${first.version + 1}`),
    "a note of two texts": () => ring("c-1"),
    "a search": () => search("second"),
  };
  const counted: Record<string, unknown> = {};
  for (const [name, step] of Object.entries(steps)) {
    let index: Rows | undefined;
    const own = await rowsOf("c-1", async () => {
      index = await rowsOf("~index", step);
    });
    counted[name] = [own.read, own.written, index?.read, index?.written];
  }
  expect(counted).toEqual(FIGURES);
});

describe("beside a hundred thousand records", () => {
  const inConversation = (
    step: Parameters<typeof sideBySide>[1],
    prepare?: Parameters<typeof sideBySide>[3],
  ) => sideBySide("c-1", step, (id) => fill(id, json), prepare);

  test("A write of one more record costs the same rows", async () => {
    const { small, large } = await inConversation(async ({ write }) => {
      // full, so that it is the change of a record
      const { json: known } = await openUser(user).read("c-1", "?limit=1");
      const [[key = "", { version = 0 } = {}] = []] = Object.entries<{ version?: number }>(known.records);
      await write("c-1", { [key]: { value: message("changed"), seen: version } });
    });
    expect(large.written).toBe(small.written);
    expect(large.written).toBeLessThanOrEqual(5);
    expect(large.read).toBeLessThanOrEqual(small.read + 2);
  });

  test("A read of what is new costs the same rows, and so does a page of the whole", async () => {
    const difference = await inConversation(async ({ read }) => {
      const { json: now } = await read("c-1", "?limit=1");
      await read("c-1", `?since=${now.version - 1}`);
    });
    expect(difference.large).toEqual(difference.small);
    const page = await inConversation(({ read }) => read("c-1", "?limit=2"));
    expect(page.large.read).toBeLessThanOrEqual(page.small.read + 2);
  });

  test("A step of a stream costs the same rows", async () => {
    const { small, large } = await inConversation(async ({ follow, read }) => {
      const { version } = (await read("c-1", "?limit=1")).json;
      const { next, leave } = await follow("c-1", `?since=${version - 1}`);
      await next();
      await next();
      leave();
    });
    expect(large.read).toBeLessThanOrEqual(small.read + 2);
  });

  test("A note for the index costs the same rows", async () => {
    const { small, large } = await inConversation(
      ({ ring }) => ring("c-1"),
      ({ write }) => write("c-1", unseen({ third: message("third") })),
    );
    expect(large.read).toBeLessThanOrEqual(small.read + 2);
    expect(large.written).toBeLessThanOrEqual(small.written);
  });

  test("A removal for good writes no row for each record", async () => {
    const { small, large } = await inConversation(({ remove }) => remove("c-1"));
    expect(large.written).toBeLessThanOrEqual(small.written + 2);
  });

  test("Removed records that are remembered cost a write and a read nothing", async () => {
    const { small, large } = await sideBySide(
      "c-1",
      async ({ read, write }) => {
        const { version } = (await read("c-1", "?limit=1")).json;
        await write("c-1", unseen({ more: "x" }));
        await read("c-1", `?since=${version}`);
      },
      fillRemoved,
    );
    expect(large).toEqual(small);
  });
});

describe("beside a hundred thousand conversations", () => {
  const inIndex = (step: Parameters<typeof sideBySide>[1], prepare?: Parameters<typeof sideBySide>[3]) =>
    sideBySide("~index", step, fillIndex, prepare);

  test("A new conversation costs the index the same rows", async () => {
    const { small, large } = await inIndex(({ write }) => write("c-1", unseen({ a: "x" })));
    expect(large).toEqual(small);
  });

  test("A note with a text costs the index about the same rows", async () => {
    const steps = 20;
    const { small, large } = await inIndex(
      async ({ write, ring }) => {
        for (let at = 0; at < steps; at += 1) {
          await write("c-1", unseen({ [`m-${at}`]: message(`a new text with the number ${at}`) }));
          await ring("c-1");
        }
      },
      ({ write }) => write("c-1", unseen({ a: "x" })),
    );
    // the words are merged now and then: the mean of some counts
    expect(large.written / steps).toBeLessThanOrEqual(small.written / steps + 5);
    expect(large.read / steps).toBeLessThanOrEqual(small.read / steps + 20);
  });

  test("A question to the search reads as many rows as it has matches, and a word's start a few more", async () => {
    const { large } = await inIndex(({ search }) => search("otter", "&limit=20"));
    expect(large.read).toBeLessThanOrEqual(400);
    const two = await inIndex(({ search }) => search("river 777", "&limit=20"));
    expect(two.large.read).toBeLessThanOrEqual(400);
  });

  test("An alarm looks at a few of them", async () => {
    const { small, large } = await inIndex(
      ({ ring }) => ring("~index"),
      async ({ write }) => {
        await write("~index", unseen({ "c-1": listed("One") }));
        await write("c-1", unseen({ a: "x" }));
      },
    );
    expect(large.read).toBeLessThanOrEqual(small.read + 10);
    expect(large.written).toBeLessThanOrEqual(small.written + 5);
  });
});
