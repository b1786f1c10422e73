import {
  type Job,
  type JobContext,
  operation,
  reading,
  type SQL,
  type StoredPart,
  type Transaction,
  type Value,
} from "@sluice/worker-proxy/plugin";
import { job, source } from "../host/define.js";
import { catchError } from "./assert.js";

/*
 * The operations, jobs and sources that the host tests run. They store their observations in rows, because a host may
 * run them in another process or object.
 */

const INSERT = `INSERT INTO host_test_notes (key, position, text)
  VALUES (?, (SELECT COUNT(*) FROM host_test_notes WHERE key = ?), ?)`;
const PAUSE_MS = 20;

/** Adds a note, and notifies the subscribers of the key. */
export const addNote = operation("hostTests.note", async (transaction, { text }: { text: string }) => {
  const { key } = transaction;
  await transaction.query(INSERT, key, key, text);
  transaction.publish();
  return null;
});

export const readNotes = reading("hostTests.notes", async ({ key, query }, _: null) => {
  const rows = await query<{ text: string }>(
    "SELECT text FROM host_test_notes WHERE key = ? ORDER BY position",
    key,
  );
  return rows.map(({ text }) => text);
});

/** Reads a number and stores the next one, in two queries. */
export const countUp = operation("hostTests.count", async ({ key, query }, _: null) => {
  const [row] = await query<{ n: number }>("SELECT n FROM host_test_counts WHERE key = ?", key);
  const n = (row?.n ?? 0) + 1;
  const sql =
    "INSERT INTO host_test_counts (key, n) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET n = excluded.n";
  await query(sql, key, n);
  return n;
});

export type Statement = readonly [sql: SQL, ...values: Value[]];

/** Runs statements one after another. Returns their rows. The value `?key` is the key. */
export const runScript = operation(
  "hostTests.script",
  async ({ key, query }, { statements }: { statements: readonly Statement[] }) => {
    const results: unknown[] = [];
    for (const [sql, ...values] of statements) {
      const rows = await query(sql, ...values.map((value) => (value === "?key" ? key : value)));
      results.push(rows.map((row) => ({ ...row })));
    }
    return results;
  },
);

/** Stores values, and reads them with concurrent queries. */
export const storeAndRead = operation(
  "hostTests.echo",
  async ({ key, query }, { values }: { values: readonly Value[] }) => {
    const sql = "INSERT INTO host_test_values (key, id, text, number) VALUES (?, ?, ?, ?)";
    const store = (value: Value, nth: number) =>
      typeof value === "string"
        ? query(sql, key, `${nth}`, value, null)
        : query(sql, key, `${nth}`, null, value);
    await Promise.all(values.map(store));
    const read = async (_: unknown, nth: number) => {
      const select = "SELECT text, number FROM host_test_values WHERE key = ? AND id = ?";
      const [row] = await query<{ text: string | null; number: number | null }>(select, key, `${nth}`);
      return row?.text ?? row?.number ?? null;
    };
    return await Promise.all(values.map(read));
  },
);

/** Tries to store a value that databases store in different ways. */
export const storeRefusedValue = operation(
  "hostTests.store",
  async ({ key, query }, { kind }: { kind: string }) => {
    const refused: Readonly<Record<string, unknown>> = {
      fraction: 0.5,
      boolean: true,
      undefined,
      "number over 2^53": 2 ** 53,
      "not a number": Number.NaN,
      "text with NUL": "a\0b",
      bytes: new Uint8Array(1),
    };
    await query("INSERT INTO host_test_values (key, id) VALUES (?, ?)", key, "before");
    await query(
      "INSERT INTO host_test_values (key, id, text) VALUES (?, 'x', ?)",
      key,
      refused[kind] as Value,
    );
    return null;
  },
);

/** Fails in different ways after its first write. */
export const failAfterWrite = operation(
  "hostTests.fail",
  async (transaction, { fault }: { fault: string }) => {
    const { key, query } = transaction;
    await query(INSERT, key, key, "never stored");
    await transaction.schedule(noteRun, {
      id: "never",
      at: transaction.now,
      input: { text: "never run", waitFor: null },
    });
    transaction.publish();
    if (fault === "throw") throw new TypeError("this operation throws");
    if (fault === "caught query") await query("SELECT * FROM host_test_no_such_table").catch(() => {});
    if (fault === "timer") await sleep(50);
    if (fault === "no await") void query(INSERT, key, key, "not awaited");
    return null;
  },
);

export const readNow = operation("hostTests.now", async ({ now }, _: null) => now);

/** The host and key for the forbidden call within an operation. */
let nested: Pick<JobContext, "host" | "key"> | undefined;
let leaked: Transaction | undefined;

/** Makes a call that is forbidden within an operation, and leaks its transaction. */
const callNested = operation("hostTests.nesting", async (transaction, { what }: { what: string }) => {
  if (!nested) throw new Error("the operation runs in another process than its job");
  const { host, key } = nested;
  if (what === "query") leaked = transaction;
  if (what === "operation") await host.run(key, addNote, { text: "nested" });
  if (what === "reading") await host.run(key, readNotes, null);
  if (what === "job") await host.start(key, noteRun, { text: "nested", waitFor: null });
  if (what === "source") await host.open(key, sendTexts, { texts: ["nested"] });
  return null;
});

/** Runs an operation with a forbidden call, or queries after it. Notes the name of the error. */
export const runNested = job("hostTests.nest", 1, async ({ host, key }, { what }: { what: string }) => {
  nested = { host, key };
  const call = async () => {
    await host.run(key, callNested, { what });
    if (what === "query") await leaked?.query("SELECT 1 AS one");
  };
  await host.run(key, addNote, { text: `${what}: ${await catchError(call())}` });
});

/** The keys whose job {@link noteRun} runs in this process. */
const runningKeys = new Set<string>();

/** Notes its start and its end. In between, waits until the note `waitFor` exists. */
export const noteRun = job(
  "hostTests.mark",
  3,
  async ({ host, key, attempt }, { text, waitFor }: { text: string; waitFor: string | null }) => {
    runningKeys.add(key);
    await host.run(key, addNote, { text: `begin ${text} ${attempt}` });
    while (waitFor !== null && !(await host.run(key, readNotes, null)).includes(waitFor))
      await sleep(PAUSE_MS);
    runningKeys.delete(key);
    await host.run(key, addNote, { text: `end ${text} ${attempt}` });
  },
);

/** Sends "true" if this process runs the job {@link noteRun} of the key. */
export const reportRunning = source("hostTests.isMarking", async function* ({ key }, _: null) {
  yield new TextEncoder().encode(`${runningKeys.has(key)}`);
});

/** Fails at each attempt, and the first time it is given up. Notes each. */
const failing: Job<null> = {
  name: "hostTests.failing",
  attempts: 2,
  async run({ host, key, attempt }) {
    await host.run(key, addNote, { text: `failed ${attempt}` });
    throw new Error("a job of the tests fails");
  },
  async onGivenUp({ host, key, attempt }) {
    await host.run(key, addNote, { text: `given up ${attempt}` });
    if (attempt === 2) throw new Error("a job of the tests fails after its last attempt");
  },
};

/** Schedules {@link noteRun}, or `count` of them. */
export const scheduleRuns = operation(
  "hostTests.plan",
  async (
    transaction,
    given: { id: string; text: string; inMs: number; waitFor: string | null; count?: number },
  ) => {
    const { id, text, inMs, waitFor, count = 1 } = given;
    const at = transaction.now + inMs;
    for (let nth = 0; nth < count; nth += 1) {
      const name = count === 1 ? "" : `${nth}`;
      await transaction.schedule(noteRun, { id: id + name, at, input: { text: text + name, waitFor } });
    }
    return at;
  },
);

export const scheduleFailing = operation("hostTests.planFailing", async (transaction, _: null) => {
  await transaction.schedule(failing, { id: "f", at: transaction.now, input: null });
  return null;
});

export const cancelRun = operation("hostTests.cancel", async (transaction, { id }: { id: string }) => {
  await transaction.cancel(noteRun, id);
  return null;
});

/** Sends texts. The text "error" throws. The text "wait" waits until the reader leaves, and notes this. */
export const sendTexts = source(
  "hostTests.chunks",
  async function* ({ host, key, signal }, { texts }: { texts: readonly string[] }) {
    try {
      for (const text of texts) {
        if (text === "error") throw new Error("a source of the tests fails");
        yield new TextEncoder().encode(text);
        // some hosts notice that a reader has left only when they send it more bytes
        while (text === "wait" && !signal.aborted) {
          await sleep(PAUSE_MS);
          yield new TextEncoder().encode(".");
        }
      }
    } finally {
      if (texts.includes("wait")) await host.run(key, addNote, { text: "the reader has left" });
    }
  },
);

/** Sends the number of notes after each change of the key, until the number is `until`. */
export const sendNoteCounts = source(
  "hostTests.follow",
  async function* ({ host, key, subscribe }, { until }: { until: number }) {
    let wake = () => {};
    let isChanged = true;
    const unsubscribe = subscribe(() => {
      isChanged = true;
      wake();
    });
    try {
      for (let sent = -1; sent < until; ) {
        if (!isChanged)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        isChanged = false;
        const { length } = await host.run(key, readNotes, null);
        if (length === sent) continue;
        sent = length;
        yield new TextEncoder().encode(`${sent}\n`);
      }
    } finally {
      unsubscribe();
    }
  },
);

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The tables, operations, jobs and sources of the host tests. */
export const hostTestPart: StoredPart = {
  tables: [
    `CREATE TABLE IF NOT EXISTS host_test_notes (key TEXT NOT NULL, position BIGINT NOT NULL, text TEXT NOT NULL,
      PRIMARY KEY (key, position))`,
    "CREATE TABLE IF NOT EXISTS host_test_counts (key TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL)",
    `CREATE TABLE IF NOT EXISTS host_test_values (key TEXT NOT NULL, id TEXT NOT NULL, text TEXT, number BIGINT,
      PRIMARY KEY (key, id))`,
    {
      sqlite: "CREATE INDEX IF NOT EXISTS host_test_by_number ON host_test_values (key, ifnull(number, 0))",
      postgres:
        "CREATE INDEX IF NOT EXISTS host_test_by_number ON host_test_values USING btree (key, number)",
    },
  ],
  operations: [
    ...[
      addNote,
      readNotes,
      countUp,
      runScript,
      storeAndRead,
      storeRefusedValue,
      failAfterWrite,
      readNow,
      callNested,
    ],
    ...[scheduleRuns, scheduleFailing, cancelRun],
  ],
  jobs: [noteRun, failing, runNested],
  sources: [sendTexts, sendNoteCounts, reportRunning],
};
