import {
  type AdminOperation,
  type BoundHost,
  ensure,
  operation,
  reading,
  type StoredPart,
  type Transaction,
  type Value,
} from "@sluice/worker-proxy/plugin";
import { readCursor, readText } from "../admin/body.js";
import { persistentJob } from "../host/define.js";
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

/** `number` grows with each dead letter. */
const TABLES = [
  `CREATE TABLE IF NOT EXISTS dead_letters (key TEXT NOT NULL, id TEXT NOT NULL, user_key TEXT NOT NULL,
    number BIGINT NOT NULL, failed_at BIGINT NOT NULL, dead_letter TEXT NOT NULL, PRIMARY KEY (key, id))`,
  "CREATE INDEX IF NOT EXISTS dead_letters_number ON dead_letters (key, number)",
  "CREATE INDEX IF NOT EXISTS dead_letters_user ON dead_letters (key, user_key)",
];

type DeadLetterRow = { readonly user_key: string; readonly number: number; readonly dead_letter: string };
/** One failure of a dead letter. A dead letter that was resent and failed again has another time. */
type FailureId = { readonly id: string; readonly failedAt: number };

const expire = persistentJob<FailureId>("deadLetters.expire", async ({ host, key }, failure) => {
  await host.run(key, removeDeadLetter, failure);
});

/**
 * Stores a dead letter, or replaces the dead letter with the same id. Returns the dead letters removed to stay under
 * the limit.
 */
export const addDeadLetter = operation(
  "deadLetters.add",
  async (
    transaction,
    { deadLetter, userKey }: { readonly deadLetter: DeadLetter; readonly userKey: string },
  ): Promise<readonly DeadLetter[]> => {
    const { key, query } = transaction;
    const { id, failedAt } = deadLetter;
    const [row] = await query<{ number: number }>(
      `INSERT INTO dead_letters (key, id, user_key, number, failed_at, dead_letter)
        VALUES (?, ?, ?, (SELECT COALESCE(MAX(number), 0) + 1 FROM dead_letters WHERE key = ?), ?, ?)
        ON CONFLICT (key, id) DO UPDATE SET number = excluded.number, failed_at = excluded.failed_at,
        dead_letter = excluded.dead_letter RETURNING number`,
      ...[key, id, userKey, key, failedAt, JSON.stringify(deadLetter)],
    );
    await transaction.schedule(expire, { id, at: failedAt + DEAD_LETTER_MS, input: { id, failedAt } });
    return await remove(transaction, "number <= ?", [(row?.number ?? 0) - MAX_DEAD_LETTERS]);
  },
);

/** Removes a dead letter unless it failed again after it was read. */
export const removeDeadLetter = operation("deadLetters.remove", async (transaction, failure: FailureId) => {
  await remove(transaction, "id = ? AND failed_at = ?", [failure.id, failure.failedAt]);
  return null;
});

/** Removes up to 100 dead letters of a user. Returns true if none is left. */
export const eraseDeadLetters = operation(
  "deadLetters.removeUser",
  async (transaction, { userKey }: { readonly userKey: string }) =>
    (await remove(transaction, "user_key = ?", [userKey])).length < PAGE,
);

/** Finds a dead letter, and the key of its user. */
export const findDeadLetter = reading(
  "deadLetters.find",
  async ({ key, query }, { id }: { readonly id: string }) => {
    const [row] = await query<DeadLetterRow>(
      "SELECT user_key, dead_letter FROM dead_letters WHERE key = ? AND id = ?",
      key,
      id,
    );
    return row ? { userKey: row.user_key, deadLetter: parseDeadLetter(row) } : null;
  },
);

/** Lists the dead letters after a number. */
export const readDeadLetters = reading(
  "deadLetters.list",
  async ({ key, query }, { after }: { readonly after: number }): Promise<DeadLetterPage> => {
    const rows = await query<DeadLetterRow>(
      "SELECT number, dead_letter FROM dead_letters WHERE key = ? AND number > ? ORDER BY number LIMIT ?",
      ...[key, after, PAGE],
    );
    const last = rows.length === PAGE ? rows.at(-1) : undefined;
    return { deadLetters: rows.map(parseDeadLetter), ...(last && { cursor: String(last.number) }) };
  },
);

export const deadLetterStorage: StoredPart = {
  tables: TABLES,
  operations: [addDeadLetter, removeDeadLetter, eraseDeadLetters, findDeadLetter, readDeadLetters],
  jobs: [expire],
};

function parseDeadLetter({ dead_letter }: Pick<DeadLetterRow, "dead_letter">): DeadLetter {
  return JSON.parse(dead_letter) as DeadLetter;
}

/** Removes up to {@link PAGE} dead letters that meet a condition, the oldest first. Returns them. */
async function remove(
  transaction: Transaction,
  condition: string,
  values: readonly Value[],
): Promise<readonly DeadLetter[]> {
  const { key, query } = transaction;
  const rows = await query<DeadLetterRow>(
    `DELETE FROM dead_letters WHERE key = ? AND id IN (SELECT id FROM dead_letters WHERE key = ? AND ${condition}
      ORDER BY number LIMIT ?) RETURNING dead_letter`,
    ...[key, key, ...values, PAGE],
  );
  const removed = rows.map(parseDeadLetter);
  for (const { id } of removed) await transaction.cancel(expire, id);
  return removed;
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
  getHost: (env: Env) => BoundHost,
): readonly AdminOperation<Env>[] {
  return [
    { name: "dead-letters/list", run: async (env, body) => list(getHost(env), readCursor(body)) },
    {
      name: "dead-letters/resend",
      run: async (env, body) => ({ resent: await resend(getHost(env), readText(body, "id")) }),
    },
  ];
}

async function list(host: BoundHost, cursor = "0"): Promise<DeadLetterPage> {
  ensure(/^\d{1,15}$/.test(cursor), "cursor: give the cursor of a list");
  return await host.run(DEAD_LETTERS_KEY, readDeadLetters, { after: Number(cursor) });
}

/** Removes the dead letter last: if the process ends before that, the dead letter stays listed. */
async function resend(host: BoundHost, id: string): Promise<boolean> {
  const found = await host.run(DEAD_LETTERS_KEY, findDeadLetter, { id });
  if (!found) return false;
  const isResent = await host.run(found.userKey, resendDelivery, { id });
  await host.run(DEAD_LETTERS_KEY, removeDeadLetter, { id, failedAt: found.deadLetter.failedAt });
  return isResent;
}
