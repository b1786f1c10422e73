import type {
  Changes,
  Keeper,
  KeptObject,
  ObjectName,
  RowValue,
  StoredRow,
} from "../hosts/process/keeper.js";

/** A test runner and the keeper that it tries. */
export interface KeeperTests {
  /**
   * Opens a keeper over a store. A name that is new has an empty one; one that was opened before has what is kept there.
   * The tests close what they open.
   */
  open(store: string): Promise<Keeper>;
  /** True where several keepers may be open over one store, as those of several processes are. @default false */
  readonly isShared?: boolean | undefined;
  /** Declares a test: `test` of Vitest, Jest, Node, Deno or Bun. */
  readonly test: (title: string, run: () => Promise<void>) => unknown;
}

const ONE: ObjectName = { binding: "THING", name: "one" };
const TABLE = "CREATE TABLE things (id TEXT PRIMARY KEY, value)";
const EMPTY = { schema: [], rows: [], alarm: null };
/** Texts that a store may take for something else. */
const TEXTS = ["", "a 'b' \"c\" \\ \n \t", "\u0000", "日本語 🦦", "x".repeat(5_000), "null", "[]", "{1,2}"];
const VALUES: readonly RowValue[] = [...TEXTS, 0, -1, 1.5, 2 ** 53 - 1, 1e300, null];

/**
 * Declares the tests of what a keeper owes the objects of a host, for a host of your own. Each test has a store of its own.
 *
 * @example
 * ```ts
 * import { testKeeper } from "@sluice/durable/testing";
 * import { test } from "vitest";
 * import { openMyKeeper } from "./my-keeper.js"; // yours
 *
 * testKeeper({ open: (store) => openMyKeeper(store), test });
 * ```
 */
export function testKeeper({ open, isShared = false, test }: KeeperTests): void {
  const one = [...rowCases(), ...alarmCases()];
  const cases = isShared ? [...one, ...sharedCases()] : one;
  for (const [title, check] of cases) test(title, () => withStore(check));

  async function withStore(check: Check): Promise<void> {
    const store = crypto.randomUUID();
    const opened: Keeper[] = [];
    try {
      await check(async () => {
        const keeper = await open(store);
        opened.push(keeper);
        return keeper;
      });
    } finally {
      // one that a case has closed may say so
      for (const keeper of opened) await keeper.close().catch(() => {});
    }
  }
}

/** Checks a store, of which each call opens one more keeper. */
type Check = (open: () => Promise<Keeper>) => Promise<void>;
type Cases = readonly (readonly [title: string, check: Check])[];

function rowCases(): Cases {
  return [
    [
      "An object that never wrote has nothing",
      async (open) => same(storedIn(await openHere(await open())), EMPTY),
    ],
    [
      "All values of a row are read as they were written",
      async (open) => {
        const rows = VALUES.map((value, at) => rowOf(`row ${at}`, value));
        const bytes = [new Uint8Array(), new Uint8Array([0, 255, 92, 39]), new Uint8Array(100_000).fill(7)];
        const withBytes = bytes.map((value, at) => rowOf(`bytes ${at}`, value));
        await rewritten(open, [{ schema: [TABLE], rows: [...rows, ...withBytes], removed: [] }], {
          ...EMPTY,
          schema: [TABLE],
          rows: [...rows, ...withBytes],
        });
      },
    ],
    [
      "Names of objects and keys of rows may be any text",
      async (open) => {
        const keeper = await open();
        const names = ["a 'b' \"c\" \\", "日本語 🦦", "x".repeat(300), "a:b", "A:B"];
        for (const name of names) {
          const kept = await openHere(keeper, { ...ONE, name });
          await kept.write({ schema: [TABLE], rows: [rowOf(name, name)], removed: [] });
          await kept.close();
        }
        await keeper.close();
        const again = await open();
        for (const name of names)
          same(storedIn(await openHere(again, { ...ONE, name })).rows, [rowOf(name, name)]);
      },
    ],
    [
      "A later write changes rows, adds some and removes others",
      (open) =>
        rewritten(
          open,
          [
            { schema: [TABLE], rows: [rowOf("a", 1), rowOf("b", 1), rowOf("c", 1)], removed: [] },
            { rows: [rowOf("b", 2), rowOf("d", 2)], removed: [rowOf("a", 0).place, rowOf("never", 0).place] },
          ],
          { ...EMPTY, schema: [TABLE], rows: [rowOf("b", 2), rowOf("c", 1), rowOf("d", 2)] },
        ),
    ],
    [
      "A write with tables replaces all rows",
      (open) =>
        rewritten(
          open,
          [
            { schema: [TABLE], rows: [rowOf("a", 1), rowOf("b", 1)], removed: [] },
            { schema: [TABLE, "CREATE INDEX i ON things (value)"], rows: [rowOf("b", 2)], removed: [] },
          ],
          { ...EMPTY, schema: [TABLE, "CREATE INDEX i ON things (value)"], rows: [rowOf("b", 2)] },
        ),
    ],
    [
      "An object that deletes everything has nothing, and may begin again",
      (open) =>
        rewritten(
          open,
          [
            { schema: [TABLE], rows: [rowOf("a", 1)], removed: [], alarm: Date.now() + 60_000 },
            { schema: [], rows: [], removed: [], alarm: null },
            { schema: [TABLE], rows: [rowOf("b", 1)], removed: [] },
            { schema: [], rows: [], removed: [] },
          ],
          EMPTY,
        ),
    ],
    [
      "Writes that were begun together are kept in their order",
      async (open) => {
        const keeper = await open();
        const kept = await openHere(keeper);
        await kept.write({ schema: [TABLE], rows: [], removed: [] });
        for (let n = 0; n < 20; n += 1) await kept.write({ rows: [rowOf("n", n)], removed: [] });
        await keeper.close();
        same(storedIn(await openHere(await open())).rows, [rowOf("n", 19)]);
      },
    ],
    [
      "A write that is refused changes nothing",
      async (open) => {
        const keeper = await open();
        const kept = await openHere(keeper);
        await kept.write({ schema: [TABLE], rows: [rowOf("a", 1)], removed: [] });
        const bytes = new Uint8Array(1);
        const wrong = { place: "wrong", table: "things", values: [bytes, bytes] };
        const changes = { rows: [rowOf("a", 2), wrong], removed: [], alarm: Date.now() };
        ensure(await failed(kept.write(changes)), "a row with two fields of bytes was taken");
        await keeper.close();
        same(storedIn(await openHere(await open())), { ...EMPTY, schema: [TABLE], rows: [rowOf("a", 1)] });
      },
    ],
    [
      "Objects of one name and two bindings are two",
      async (open) => {
        const keeper = await open();
        const kept = await openHere(keeper);
        await kept.write({ schema: [TABLE], rows: [rowOf("a", 1)], removed: [] });
        same(storedIn(await openHere(keeper, { ...ONE, binding: "OTHER" })), EMPTY);
      },
    ],
  ];
}

function alarmCases(): Cases {
  return [
    [
      "Alarms that are due are found, the earliest first and no more than asked for",
      async (open) => {
        const keeper = await open();
        const now = Date.now();
        const later = { late: -20_000, latest: -10_000, early: -30_000, future: 600_000 };
        for (const [name, ms] of Object.entries(later)) await leaveWithAlarm(keeper, name, now + ms);
        await keeper.close();
        const again = await open();
        const two = await again.due(2);
        same(two.objects.map(({ name }) => name).sort(), ["early", "late"]);
        ensure(
          two.next !== null && two.next <= Date.now() + 5_000,
          "the next look is too late for one that is due",
        );
        const all = await again.due(10);
        same(all.objects.map(({ name }) => name).sort(), ["early", "late", "latest"]);
        ensure(
          all.next !== null && all.next <= now + 601_000,
          "the next look is too late for the last alarm",
        );
      },
    ],
    [
      "An alarm is where it was set, and is gone where it was taken back",
      async (open) => {
        const keeper = await open();
        const at = Date.now() + 100_000;
        const kept = await openHere(keeper);
        await kept.write({ rows: [], removed: [], alarm: at });
        await keeper.close();
        const again = await open();
        const reopened = await openHere(again);
        const { alarm } = reopened.stored;
        ensure(
          alarm !== null && Math.abs(alarm - at) < 10_000,
          `the alarm is at ${alarm}, and was set to ${at}`,
        );
        await reopened.write({ rows: [], removed: [], alarm: null });
        await again.close();
        same(storedIn(await openHere(await open())), EMPTY);
      },
    ],
    [
      "A write without an alarm leaves the alarm as it is",
      async (open) => {
        const keeper = await open();
        await leaveWithAlarm(keeper, ONE.name, Date.now() - 1);
        const kept = await openHere(keeper);
        await kept.write({ schema: [TABLE], rows: [rowOf("a", 1)], removed: [] });
        await keeper.close();
        const { objects } = await (await open()).due(10);
        same(
          objects.map(({ binding, name }) => ({ binding, name })),
          [ONE],
        );
      },
    ],
  ];
}

function sharedCases(): Cases {
  return [
    [
      "An object that one keeper has is elsewhere for another, until that one is closed",
      async (open) => {
        const [first, second] = [await open(), await open()];
        const kept = await openHere(first);
        await kept.write({ schema: [TABLE], rows: [rowOf("a", 1)], removed: [] });
        ensure("owner" in (await second.open(ONE)), "two keepers have one object");
        ensure(kept.isOurs(), "the first keeper has lost its object");
        await first.close();
        same(storedIn(await openHere(second)).rows, [rowOf("a", 1)]);
      },
    ],
    [
      "Of many keepers that open an object at the same time, one has it",
      async (open) => {
        const keepers = await Promise.all(Array.from({ length: 4 }, open));
        const found = await Promise.all(keepers.map((keeper) => keeper.open(ONE)));
        same(found.filter((kept) => !("owner" in kept)).length, 1);
      },
    ],
    [
      "An alarm that is due is given to one keeper",
      async (open) => {
        const before = await open();
        for (let n = 0; n < 10; n += 1) await leaveWithAlarm(before, `object ${n}`, Date.now() - 1_000);
        await before.close();
        const [first, second] = [await open(), await open()];
        const found = await Promise.all([first.due(20), second.due(20)]);
        const names = found.flatMap(({ objects }) => objects.map(({ name }) => name));
        same(
          names.sort(),
          Array.from({ length: 10 }, (_, n) => `object ${n}`),
        );
      },
    ],
  ];
}

/** Makes the writes, and checks what is read in the same process and after a restart. */
async function rewritten(
  open: () => Promise<Keeper>,
  writes: readonly Changes[],
  expected: KeptObject["stored"],
): Promise<void> {
  const keeper = await open();
  const kept = await openHere(keeper);
  for (const changes of writes) await kept.write(changes);
  await kept.close();
  same(storedIn(await openHere(keeper)), expected);
  await keeper.close();
  same(storedIn(await openHere(await open())), expected);
}

async function openHere(keeper: Keeper, name = ONE): Promise<KeptObject> {
  const kept = await keeper.open(name);
  if ("owner" in kept) throw new Error(`the object is elsewhere, at ${kept.owner}`);
  return kept;
}

async function leaveWithAlarm(keeper: Keeper, name: string, alarm: number): Promise<void> {
  const kept = await openHere(keeper, { ...ONE, name });
  await kept.write({ rows: [], removed: [], alarm });
  await kept.close();
}

function rowOf(id: string, value: RowValue): StoredRow {
  return { place: JSON.stringify(["things", id]), table: "things", values: [id, value] };
}

function storedIn({ stored }: KeptObject): KeptObject["stored"] {
  const rows = [...stored.rows].sort((a, b) => (a.place < b.place ? -1 : 1));
  return { ...stored, rows };
}

async function failed(promise: Promise<unknown>): Promise<boolean> {
  return await promise.then(
    () => false,
    () => true,
  );
}

function ensure(isMet: boolean, problem: string): void {
  if (!isMet) throw new Error(problem);
}

/** @throws {Error} where both differ; of bytes their values count, and of rows not their order */
function same(actual: unknown, expected: unknown): void {
  const [is, should] = [textOf(actual), textOf(expected)];
  ensure(is === should, `expected ${should.slice(0, 500)}, and got ${is.slice(0, 500)}`);
}

function textOf(value: unknown): string {
  if (value !== null && typeof value === "object" && "rows" in value) {
    const { schema, rows, alarm } = value as KeptObject["stored"];
    return textOf([schema, textOf([...rows].sort((a, b) => (a.place < b.place ? -1 : 1))), alarm]);
  }
  return JSON.stringify(value, function (key, part) {
    // a Buffer has changed itself by now
    const own: unknown = this[key];
    return own instanceof Uint8Array ? ["bytes", ...own] : part;
  });
}
