import type { BoundHost } from "@sluice/worker-proxy/plugin";
import { catchError, ensure, ensureSame } from "./assert.js";
import {
  addNote,
  cancelRun,
  countUp,
  failAfterWrite,
  noteRun,
  readNotes,
  readNow,
  reportRunning,
  runNested,
  runScript,
  type Statement,
  scheduleFailing,
  scheduleRuns,
  sendNoteCounts,
  sendTexts,
  storeAndRead,
  storeRefusedValue,
} from "./host-part.js";

/** The hosts of one database, and a key that no other test uses. */
interface HostCase {
  readonly host: BoundHost;
  /** A host of another process; the same host if there is only one process. */
  readonly other: BoundHost;
  readonly key: string;
  /** Ends the process of a host, or the object of the key, without a warning. */
  readonly crash: ((host: BoundHost, key: string) => Promise<void>) | undefined;
}

export type HostCases = Readonly<Record<string, (given: HostCase) => Promise<void>>>;

/** Time after which a waiting test fails, in milliseconds. */
const TIMEOUT_MS = 30_000;
/** Maximum number of jobs of one key that may run at once, in all processes. */
const MAX_JOBS_OF_KEY = 32;
const TEXTS = ["", "a 'b' \"c\" \\ \n \t", "日本語 🦦", "null", "1.0", "[]", "?", "x".repeat(100_000)];

export const OPERATIONS: HostCases = {
  async "runs the operations of a key one after another, from all processes"({ host, other, key }) {
    const all = Array.from({ length: 20 }, (_, nth) => (nth % 2 ? host : other).run(key, countUp, null));
    ensureSame(
      (await Promise.all(all)).sort((a, b) => a - b),
      Array.from({ length: 20 }, (_, nth) => nth + 1),
    );
  },
  async "stores texts and numbers as they are, and reads them together"({ host, key }) {
    const values = [...TEXTS, 0, -1, 2 ** 31, 2 ** 53 - 1, -(2 ** 53) + 1, null];
    // half of a surrogate pair becomes the replacement character
    ensureSame(await host.run(key, storeAndRead, { values: [...values, "a\ud83ez"] }), [
      ...values,
      "a\ufffdz",
    ]);
  },
  async "orders texts by their bytes"({ host, key }) {
    await host.run(key, storeAndRead, { values: ["a", "ä", "B", "0", "z", "Z", "日"] });
    const order = "SELECT text FROM host_test_values WHERE key = ? AND text >= ? ORDER BY text";
    const texts = ["B", "Z", "a", "z", "ä", "日"].map((text) => ({ text }));
    ensureSame(await host.run(key, runScript, { statements: [[order, "?key", "A"]] }), [texts]);
  },
  async "understands the SQL that SQLite and Postgres share, and runs the text for its database"({
    host,
    key,
  }) {
    const from = "FROM host_test_values WHERE key = ?";
    const store = `INSERT INTO host_test_values (key, id, number) VALUES (?, ?, ?)
      ON CONFLICT (key, id) DO UPDATE SET number = host_test_values.number + excluded.number`;
    const statements: Statement[] = [
      [store, "?key", "a", 1],
      [store, "?key", "b", 1_999_999_999_999],
      [store, "?key", "b", 1],
      [store, "?key", "c", 3],
      [`SELECT SUM(number) AS total, COUNT(*) AS count, MAX(id) AS last ${from}`, "?key"],
      [
        {
          sqlite: `SELECT json_group_array(id) AS texts ${from} AND number < ?`,
          postgres: `SELECT json_agg(id)::text AS texts ${from} AND number < ?`,
        },
        ...["?key", 2],
      ],
      [
        `UPDATE host_test_values SET number = number + ? WHERE key = ? AND id IN
          (SELECT id ${from} ORDER BY id LIMIT ?) RETURNING id, number`,
        ...[10, "?key", "?key", 1],
      ],
      [`DELETE ${from} AND number > ? RETURNING id`, "?key", 100],
    ];
    ensureSame((await host.run(key, runScript, { statements })).slice(4), [
      [{ total: 2_000_000_000_004, count: 3, last: "c" }],
      [{ texts: '["a"]' }],
      [{ id: "a", number: 11 }],
      [{ id: "b" }],
    ]);
  },
  async "refuses values that databases store in different ways, and stores nothing"({ host, key }) {
    const kinds = [
      "fraction",
      "boolean",
      "undefined",
      "number over 2^53",
      "not a number",
      "text with NUL",
      "bytes",
    ];
    // every kind first writes the same row
    for (const kind of kinds)
      ensureSame([kind, await catchError(host.run(key, storeRefusedValue, { kind }))], [kind, "TypeError"]);
  },
  async "refuses keys that an index does not hold"({ host }) {
    for (const key of ["", "x".repeat(501), "a\0b", "\ud83e"])
      ensureSame(await catchError(host.run(key, readNotes, null)), "TypeError");
    ensureSame(await host.run(`🦦 ${"x".repeat(490)}`, readNotes, null), []);
  },
};

export const ATOMICITY: HostCases = Object.fromEntries(
  Object.entries({
    "stores nothing of an operation that throws": "throw",
    "stores nothing of an operation that went on after a failed query": "caught query",
    "refuses an operation that awaits more than its queries": "timer",
    "refuses an operation that does not await a query": "no await",
  }).map(([title, fault]) => [
    title,
    async ({ host, other, key }: HostCase) => {
      const error = await catchError(host.run(key, failAfterWrite, { fault }));
      ensure(error !== undefined, "the operation was stored");
      if (fault !== "caught query") ensureSame(error, "TypeError");
      await host.run(key, addNote, { text: "afterwards" });
      // a leaked timer would be due before this timer
      await host.run(key, scheduleRuns, { id: "later", text: "later", inMs: 0, waitFor: null });
      await waitFor(() => other.run(key, readNotes, null), ["afterwards", "begin later 1", "end later 1"]);
    },
  ]),
);

export const NESTING: HostCases = {
  async "refuses another operation, a job and a source within an operation, and a query after it"({
    host,
    key,
  }) {
    const kinds = ["operation", "reading", "job", "source", "query"];
    for (const what of kinds) await host.start(key, runNested, { what });
    const expected = kinds.map((what) => `${what}: TypeError`).sort();
    await waitFor(async () => [...(await host.run(key, readNotes, null))].sort(), expected);
  },
};

export const TIMERS: HostCases = {
  async "runs a timer once, at its time"({ host, other, key }) {
    const at = await host.run(key, scheduleRuns, { id: "a", text: "a", inMs: 300, waitFor: null });
    await waitFor(() => other.run(key, readNotes, null), ["begin a 1", "end a 1"]);
    const now = await host.run(key, readNow, null);
    ensure(now >= at && Math.abs(now - Date.now()) < 60_000, `the timer of ${at} ran before ${now}`);
  },
  async "runs the last of the timers with one id"({ host, other, key }) {
    await host.run(key, scheduleRuns, { id: "a", text: "first", inMs: 3_600_000, waitFor: null });
    await other.run(key, scheduleRuns, { id: "a", text: "second", inMs: 100, waitFor: null });
    await waitFor(() => host.run(key, readNotes, null), ["begin second 1", "end second 1"]);
  },
  async "does not run a timer that was canceled"({ host, key }) {
    let text = "a";
    // on a busy machine a timer can be due before it is canceled: then try another timer
    for (;;) {
      const at = await host.run(key, scheduleRuns, { id: "a", text, inMs: 200, waitFor: null });
      await host.run(key, cancelRun, { id: "a" });
      if ((await host.run(key, readNow, null)) < at) break;
      text += "a";
    }
    await host.run(key, scheduleRuns, { id: "b", text: "b", inMs: 400, waitFor: null });
    const read = () => host.run(key, readNotes, null);
    await waitFor(async () => (await read()).includes("end b 1"), true);
    ensure(!(await read()).includes(`begin ${text} 1`), "a canceled timer ran");
  },
  async "runs a timer that was stored again and canceled while its job runs, and never both at once"({
    host,
    other,
    key,
  }) {
    await host.run(key, scheduleRuns, { id: "a", text: "first", inMs: 0, waitFor: "go" });
    await waitFor(() => host.run(key, readNotes, null), ["begin first 1"]);
    await other.run(key, scheduleRuns, { id: "a", text: "second", inMs: 0, waitFor: null });
    await other.run(key, cancelRun, { id: "a" });
    await host.run(key, scheduleRuns, { id: "a", text: "third", inMs: 0, waitFor: null });
    await runOtherTimer(host, key);
    await host.run(key, addNote, { text: "go" });
    const third = ["end first 1", "begin third 1", "end third 1"];
    await waitFor(
      () => host.run(key, readNotes, null),
      ["begin first 1", "begin o 1", "end o 1", "go", ...third],
    );
  },
  async "tries a job again that fails, as often as it says, and then calls its onGivenUp until it succeeds"({
    host,
    key,
  }) {
    await host.run(key, scheduleFailing, null);
    const failed = ["failed 1", "failed 2", "given up 2", "given up 3"];
    await waitFor(() => host.run(key, readNotes, null), failed);
    await runOtherTimer(host, key);
    ensureSame(await host.run(key, readNotes, null), [...failed, "begin o 1", "end o 1"]);
  },
  async "lets the timers of one key not delay those of others"({ host, key }) {
    const runCount = 3 * MAX_JOBS_OF_KEY + 4;
    await host.run(key, scheduleRuns, { id: "", text: "", inMs: -1_000, waitFor: "go", count: runCount });
    const otherKey = `${key} other`;
    await host.run(otherKey, scheduleRuns, { id: "a", text: "a", inMs: 200, waitFor: null });
    await waitFor(() => host.run(otherKey, readNotes, null), ["begin a 1", "end a 1"]);
    const begun = await host.run(key, readNotes, null);
    ensure(begun.length <= MAX_JOBS_OF_KEY, `${begun.length} jobs of one key run at once`);
    await host.run(key, addNote, { text: "go" });
    const all = 2 * runCount + 1;
    await waitFor(async () => (await host.run(key, readNotes, null)).length, all);
    ensureSame(new Set(await host.run(key, readNotes, null)).size, all);
  },
};

export const LOCAL_WORK: HostCases = {
  async "starts a job with the key"({ host, other, key }) {
    await host.start(key, noteRun, { text: "now", waitFor: null });
    await waitFor(() => other.run(key, readNotes, null), ["begin now 0", "end now 0"]);
  },
  async "sends the bytes of a source in their order"({ host, key }) {
    const texts = ["one ", "", "two ", "x".repeat(200_000), " 日本語"];
    ensureSame(await readText(await host.open(key, sendTexts, { texts })), texts.join(""));
  },
  async "breaks the stream of a source that fails"({ host, key }) {
    const text = host.open(key, sendTexts, { texts: ["one", "error"] }).then(readText);
    ensure((await catchError(text)) !== undefined, "the stream ended as if it was whole");
  },
  async "ends a source whose reader has left"({ host, key }) {
    const reader = (await host.open(key, sendTexts, { texts: ["one", "wait"] })).getReader();
    await reader.read();
    reader.read().catch(() => {});
    // the source waits by now
    await runOtherTimer(host, `${key} other`);
    await reader.cancel("left");
    await waitFor(() => host.run(key, readNotes, null), ["the reader has left"]);
  },
  async "tells the listeners of a key, in each process, that it has changed"({ host, other, key }) {
    // the other host writes nothing, so that it learns of changes only through notifications
    const opened = await Promise.all(
      [host, other].map((each) => each.open(key, sendNoteCounts, { until: 3 })),
    );
    const readers = opened.map((stream) => stream.getReader());
    const expectNext = async (text: string) => {
      for (const reader of readers) {
        const { value } = await reader.read();
        ensureSame(new TextDecoder().decode(value), text);
      }
    };
    await expectNext("0\n");
    for (const nth of [1, 2, 3]) {
      await host.run(key, addNote, { text: `${nth}` });
      await expectNext(`${nth}\n`);
    }
  },
};

export const CRASHES: HostCases = {
  async "runs a job again whose process ended, and no other one"({ host, other, key, crash }) {
    await host.run(key, scheduleRuns, { id: "done", text: "done", inMs: 0, waitFor: null });
    await waitFor(() => host.run(key, readNotes, null), ["begin done 1", "end done 1"]);
    await host.run(key, scheduleRuns, { id: "a", text: "a", inMs: 0, waitFor: "go" });
    await waitFor(async () => (await host.run(key, readNotes, null)).length, 3);
    // either process may have claimed the timer
    const runsHere = (await readText(await host.open(key, reportRunning, null))) === "true";
    const [crashed, remaining] = runsHere ? [host, other] : [other, host];
    await crash?.(crashed, key);
    const before = ["begin done 1", "end done 1", "begin a 1"];
    await waitFor(() => remaining.run(key, readNotes, null), [...before, "begin a 2"]);
    await remaining.run(key, addNote, { text: "go" });
    await waitFor(() => remaining.run(key, readNotes, null), [...before, "begin a 2", "go", "end a 2"]);
  },
};

/** Runs another timer to its end. All timers that were due earlier have then run. */
async function runOtherTimer(host: BoundHost, key: string): Promise<void> {
  await host.run(key, scheduleRuns, { id: "o", text: "o", inMs: 0, waitFor: null });
  const deadline = Date.now() + TIMEOUT_MS;
  while (!(await host.run(key, readNotes, null)).includes("end o 1")) {
    ensure(Date.now() < deadline, "another timer did not run");
    await pause();
  }
}

async function readText(stream: ReadableStream<Uint8Array>): Promise<string> {
  return await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}

/** Reads a value until it is the expected one. */
async function waitFor<Result>(read: () => Promise<Result>, expected: Result): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const found = await read();
    if (JSON.stringify(found) === JSON.stringify(expected)) return;
    if (Date.now() > deadline) ensureSame(found, expected);
    await pause();
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 25));
}
