import {
  type AdminOperation,
  type BoundHost,
  ensure,
  type StoredPart,
  type Transaction,
  type Value,
} from "@sluice/worker-proxy/plugin";
import { readCursor, readText } from "../admin/body.js";
import { job, operation, reading } from "../host/define.js";
import { DEAD_LETTER_MS, resendDelivery } from "./deliveries.js";

/**
 * The end of a task that could not be delivered to a handler. It is stored for 7 days. The list holds at most 10,000 dead
 * letters: a new dead letter replaces the oldest, and an event reports the removal.
 */
export type DeadLetter = {
  /** `<end id>:<handler>`. A dead letter that is resent and fails again has the same id. */
  readonly id: string;
  /** Name of the handler: `webhook`, or the name of your function. */
  readonly handler: string;
  /** The id that `authenticate` returned. */
  readonly userId: string;
  /** The gateway's id of the task. */
  readonly taskId: string;
  readonly model?: string;
  /** The `x-request-id` of the create request. */
  readonly requestId?: string;
  readonly attempts: number;
  /** Last HTTP status of the receiver. Absent if the receiver did not respond. */
  readonly upstreamStatus?: number;
  /** Why the last attempt failed, up to 500 characters. */
  readonly cause: string;
  /** Time of the last attempt, in Unix milliseconds. */
  readonly failedAt: number;
};

/** A page of dead letters. */
type DeadLetterPage = {
  /** Up to 100 dead letters, oldest first. */
  readonly deadLetters: readonly DeadLetter[];
  /** Cursor of the next page. Absent on the last page. */
  readonly cursor?: string;
};

/** Key of the list, which all users share. */
export const DEAD_LETTERS_KEY = "dead-letters";

/** Maximum number of stored dead letters. */
const MAX_DEAD_LETTERS = 10_000;
const PAGE = 100;
/** Number of dead letters deleted per sweep. */
const STEP = 500;

const TABLES = [
  `CREATE TABLE IF NOT EXISTS dead_letters (key TEXT NOT NULL, id TEXT NOT NULL, user_key TEXT NOT NULL,
    failed_at BIGINT NOT NULL, letter TEXT NOT NULL, PRIMARY KEY (key, id))`,
  "CREATE INDEX IF NOT EXISTS dead_letters_time ON dead_letters (key, failed_at, id)",
  "CREATE INDEX IF NOT EXISTS dead_letters_user ON dead_letters (key, user_key)",
  `CREATE TABLE IF NOT EXISTS dead_letter_counts (key TEXT NOT NULL, letters BIGINT NOT NULL, PRIMARY KEY (key))`,
];

type DeadLetterRow = { readonly user_key: string; readonly letter: string };
type Position = { readonly failedAt: number; readonly id: string };

/** Deletes expired dead letters. */
const sweep = job<null>("deadLetters.sweep", 1_000, async ({ host, key }) => {
  await host.run(key, sweepDeadLetters, null);
});

/**
 * Stores a dead letter, or replaces the dead letter with the same id. Returns the dead letters removed to stay under
 * the limit.
 */
export const addDeadLetter = operation(
  "deadLetters.add",
  async (
    transaction,
    { letter, userKey }: { readonly letter: DeadLetter; readonly userKey: string },
  ): Promise<readonly DeadLetter[]> => {
    const { key, query } = transaction;
    const { id, failedAt } = letter;
    const before = await query("SELECT id FROM dead_letters WHERE key = ? AND id = ?", key, id);
    await query(
      `INSERT INTO dead_letters (key, id, user_key, failed_at, letter) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (key, id) DO UPDATE SET failed_at = excluded.failed_at, letter = excluded.letter`,
      ...[key, id, userKey, failedAt, JSON.stringify(letter)],
    );
    await transaction.schedule(sweep, { id: "", at: await readSweepTime(transaction), input: null });
    const letters = await count(transaction, 1 - before.length);
    if (letters <= MAX_DEAD_LETTERS) return [];
    return await remove(transaction, "", [], letters - MAX_DEAD_LETTERS);
  },
);

/** Removes a dead letter unless it failed again after it was read. */
export const removeDeadLetter = operation(
  "deadLetters.remove",
  async (transaction, { id, failedAt }: Position) => {
    await remove(transaction, "AND id = ? AND failed_at = ?", [id, failedAt], 1);
    return null;
  },
);

/** Removes up to 100 dead letters of a user. Returns true if none is left. */
export const eraseDeadLetters = operation(
  "deadLetters.removeUser",
  async (transaction, { userKey }: { readonly userKey: string }) =>
    (await remove(transaction, "AND user_key = ?", [userKey], PAGE)).length < PAGE,
);

const sweepDeadLetters = operation("deadLetters.sweep", async (transaction, _: null) => {
  await remove(transaction, "AND failed_at <= ?", [transaction.now - DEAD_LETTER_MS], STEP);
  const at = await readSweepTime(transaction);
  if (at !== Number.MAX_SAFE_INTEGER) await transaction.schedule(sweep, { id: "", at, input: null });
  return null;
});

/** Finds a dead letter, and the key of its user. */
export const findDeadLetter = reading(
  "deadLetters.find",
  async ({ key, query }, { id }: { readonly id: string }) => {
    const [row] = await query<DeadLetterRow>(
      "SELECT user_key, letter FROM dead_letters WHERE key = ? AND id = ?",
      key,
      id,
    );
    return row ? { userKey: row.user_key, letter: parseDeadLetter(row) } : null;
  },
);

/** Lists the dead letters after a position. */
export const readDeadLetters = reading(
  "deadLetters.list",
  async ({ key, query }, { failedAt, id }: Position): Promise<DeadLetterPage> => {
    const rows = await query<DeadLetterRow>(
      `SELECT letter FROM dead_letters WHERE key = ? AND (failed_at, id) > (?, ?)
        ORDER BY failed_at, id LIMIT ?`,
      ...[key, failedAt, id, PAGE],
    );
    const deadLetters = rows.map(parseDeadLetter);
    const last = deadLetters.length === PAGE ? deadLetters.at(-1) : undefined;
    return { deadLetters, ...(last && { cursor: `${last.failedAt}:${last.id}` }) };
  },
);

/** The tables and operations of the list. */
export const deadLetterStorage: StoredPart = {
  tables: TABLES,
  operations: [
    ...[addDeadLetter, removeDeadLetter, eraseDeadLetters, sweepDeadLetters],
    ...[findDeadLetter, readDeadLetters],
  ],
  jobs: [sweep],
};

function parseDeadLetter({ letter }: Pick<DeadLetterRow, "letter">): DeadLetter {
  return JSON.parse(letter) as DeadLetter;
}

/** Removes the oldest dead letters that meet a condition. Returns them. */
async function remove(
  transaction: Transaction,
  condition: string,
  values: readonly Value[],
  limit: number,
): Promise<readonly DeadLetter[]> {
  const { key, query } = transaction;
  const removed = await query<DeadLetterRow>(
    `DELETE FROM dead_letters WHERE key = ? AND id IN (SELECT id FROM dead_letters WHERE key = ? ${condition}
      ORDER BY failed_at, id LIMIT ?) RETURNING letter`,
    ...[key, key, ...values, limit],
  );
  if (removed.length > 0) await count(transaction, -removed.length);
  return removed.map(parseDeadLetter);
}

/** Changes the stored number of dead letters, and returns it. Counting the rows would be slower. */
async function count({ key, query }: Transaction, change: number): Promise<number> {
  const [row] = await query<{ letters: number }>(
    `INSERT INTO dead_letter_counts (key, letters) VALUES (?, ?)
      ON CONFLICT (key) DO UPDATE SET letters = dead_letter_counts.letters + excluded.letters RETURNING letters`,
    key,
    change,
  );
  return row?.letters ?? 0;
}

/** Returns the time at which the oldest dead letter expires; `Number.MAX_SAFE_INTEGER` if the list is empty. */
async function readSweepTime({ key, query }: Transaction): Promise<number> {
  const [oldest] = await query<{ failed_at: number }>(
    "SELECT failed_at FROM dead_letters WHERE key = ? ORDER BY failed_at, id LIMIT 1",
    key,
  );
  return oldest ? oldest.failed_at + DEAD_LETTER_MS : Number.MAX_SAFE_INTEGER;
}

/**
 * Creates the operator operations on dead letters.
 *
 * - `dead-letters/list`: a page of dead letters, after an optional `cursor`.
 * - `dead-letters/resend` with an `id`: delivers the dead letter again, with the full number of attempts and the same id.
 *   The dead letter leaves the list, and returns if the last attempt fails again. `resent` is false if the dead letter
 *   does not exist, or its task was deleted in the meantime.
 */
export function createDeadLetterOperations<Env>(
  open: (env: Env) => BoundHost,
): readonly AdminOperation<Env>[] {
  return [
    { name: "dead-letters/list", run: async (env, body) => list(open(env), readCursor(body)) },
    {
      name: "dead-letters/resend",
      run: async (env, body) => ({ resent: await resend(open(env), readText(body, "id")) }),
    },
  ];
}

async function list(host: BoundHost, cursor = "0:"): Promise<DeadLetterPage> {
  const [, time, id = ""] = /^(\d{1,15}):(.*)$/s.exec(cursor) ?? [];
  ensure(time, "cursor: give the cursor of a list");
  return await host.run(DEAD_LETTERS_KEY, readDeadLetters, { failedAt: Number(time), id });
}

/** Removes the dead letter last: if the process ends before that, the dead letter stays listed. */
async function resend(host: BoundHost, id: string): Promise<boolean> {
  const found = await host.run(DEAD_LETTERS_KEY, findDeadLetter, { id });
  if (!found) return false;
  const isResent = await host.run(found.userKey, resendDelivery, { id });
  await host.run(DEAD_LETTERS_KEY, removeDeadLetter, { id, failedAt: found.letter.failedAt });
  return isResent;
}
