import type { Transaction } from "@sluice/worker-proxy";
import { operation } from "../../host/define.js";
import {
  addUser,
  COPY,
  type CopyRow,
  DELETED,
  scheduleSweep,
  selectCopies,
  type UserInput,
} from "../files/tables.js";

/** A file of the gateway to copy. */
export type NewCopy = {
  /** Hash that identifies the file. A user has one copy of each file. */
  readonly source: string;
  /** Id of the copy. */
  readonly id: string;
  readonly url: string;
  /** The gateway's id of the task; null for an image. */
  readonly taskId: string | null;
};

/** Adds new results while fewer than `maxFiles` copies are waiting. Returns the dropped copies. */
export const addCopies = operation(
  "files/add-copies",
  async (
    transaction,
    { userId, copies, maxFiles }: UserInput & { copies: readonly NewCopy[]; maxFiles: number },
  ): Promise<readonly NewCopy[]> => {
    await addUser(transaction);
    const dropped: NewCopy[] = [];
    for (const copy of copies) if (!(await addCopy(transaction, copy, maxFiles))) dropped.push(copy);
    await scheduleCopy(transaction, userId);
    return dropped;
  },
);

async function addCopy(transaction: Transaction, copy: NewCopy, maxFiles: number): Promise<boolean> {
  const { key, now, query } = transaction;
  const { source, id, url, taskId } = copy;
  const [known] = await selectCopies(transaction, "source = ?", source);
  // the gateway signs URLs again, so update a waiting copy to the latest URL
  if (known && known.url !== "" && known.url !== url)
    await query("UPDATE file_copies SET url = ? WHERE key = ? AND source = ?", url, key, source);
  if (known) return true;
  const [counted] = await query(
    "UPDATE file_users SET copies = copies + 1 WHERE key = ? AND copies < ? RETURNING key",
    ...[key, maxFiles],
  );
  if (!counted) return false;
  await query(
    `INSERT INTO file_copies (key, source, id, url, task_id, attempts, noted_at, next_at)
      VALUES (?, ?, ?, ?, ?, 0, ?, ?)`,
    ...[key, source, id, url, taskId, now, now],
  );
  return true;
}

/**
 * Starts an attempt at the copy with the earliest due time. The attempt is counted before it runs. The next attempt
 * starts after this attempt has ended or timed out. A user has one copy job at a time.
 */
export const beginCopy = operation(
  "files/begin-copy",
  async (transaction, { userId, ms }: UserInput & { readonly ms: number }): Promise<CopyRow | undefined> => {
    const { key, now, query } = transaction;
    await query("DELETE FROM file_copies WHERE key = ? AND url = '' AND next_at <= ?", key, now);
    const [due] = await selectCopies(transaction, "next_at <= ? ORDER BY next_at LIMIT 1", now);
    if (due)
      await query(
        "UPDATE file_copies SET attempts = attempts + 1, next_at = ? WHERE key = ? AND source = ?",
        ...[now + ms, key, due.source],
      );
    await scheduleCopy(transaction, userId);
    return due && { ...due, attempts: due.attempts + 1 };
  },
);

/** The end of an attempt. */
export type CopyEnd = UserInput & {
  readonly source: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Number of attempts to store. It is lower than `attempt` if this attempt does not count. */
  readonly attempts: number;
  /** Time until the next attempt, in milliseconds; null if the copy is over. */
  readonly retryMs: number | null;
  /** Time to remember a copy that is over, in milliseconds, so that it is not made again. */
  readonly rememberMs: number;
};

/**
 * Result of {@link endCopy}. `dropped`: the owner deleted the copy in the meantime, or the user was erased.
 * `overtaken`: the attempt took too long, and a later attempt has replaced it.
 */
export type CopyEnding = "ended" | "dropped" | "overtaken";

/** Stores the end of an attempt. */
export const endCopy = operation("files/end-copy", async (transaction, end: CopyEnd): Promise<CopyEnding> => {
  const { key, now, query } = transaction;
  const { source, attempt, attempts, retryMs } = end;
  const [copy] = await selectCopies(transaction, "source = ?", source);
  const isMine = copy && copy.url !== "" && copy.attempts === attempt;
  if (isMine) {
    const isOver = retryMs === null;
    const nextAt = now + (retryMs ?? end.rememberMs);
    await query(
      "UPDATE file_copies SET url = ?, next_at = ?, attempts = ? WHERE key = ? AND source = ?",
      ...[isOver ? "" : copy.url, nextAt, attempts, key, source],
    );
    if (isOver) await query("UPDATE file_users SET copies = copies - 1 WHERE key = ?", key);
  }
  await scheduleCopy(transaction, end.userId);
  // a repeated input finds the end that it stored before
  if (copy?.attempts === attempt) return "ended";
  return copy && copy.attempts !== DELETED ? "overtaken" : "dropped";
});

/** Schedules the next attempt, or the deletion of a row. */
async function scheduleCopy(transaction: Transaction, userId: string): Promise<void> {
  const { key, query } = transaction;
  const [next] = await query<{ at: number | null }>(
    "SELECT MIN(next_at) AS at FROM file_copies WHERE key = ?",
    key,
  );
  const at = next?.at ?? null;
  if (at === null) await transaction.cancel(COPY, "");
  else await transaction.schedule(COPY, { id: "", at, input: { userId } });
  await scheduleSweep(transaction, userId);
}
