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

/** A file of the gateway that is to be copied. */
export type NewCopy = {
  /** The hash that names it: there is one copy of each. */
  readonly source: string;
  /** The id that the copy gets. */
  readonly id: string;
  readonly url: string;
  /** The gateway's id of the task; null for an image. */
  readonly taskId: string | null;
};

/** Adds results that are not known yet, as long as fewer wait than a user may have files. Returns the dropped ones. */
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
  // a copy that waits is fetched from its newest address: the gateway signs them anew
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
 * Begins an attempt at the copy that is due first. It is counted before it runs, and no other one begins before it must have
 * ended. A user has one job of copies at a time.
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
  /** Number of the attempt. */
  readonly attempt: number;
  /** Number of attempts that count from now on. */
  readonly attempts: number;
  /** Milliseconds until the next attempt; null where the copy is over. */
  readonly retryMs: number | null;
  /** Milliseconds for which a copy that is over is known, so that it is not made again. */
  readonly rememberMs: number;
};

/**
 * The end of an attempt. `dropped`: the copy was deleted by its owner meanwhile, or its user was erased. `overtaken`: the
 * attempt took too long, and another one decides.
 */
export type CopyEnding = "ended" | "dropped" | "overtaken";

/** Ends an attempt. */
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
  // a repeated input finds its own end
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
