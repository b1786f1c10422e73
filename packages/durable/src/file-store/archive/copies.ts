import type { Transaction } from "@sluice/worker-proxy";
import { operation } from "../../host/define.js";
import { LOST_COPY_MS } from "../files/removal.js";
import { addUser, COPY, type CopyRow, selectCopies, sweepBy } from "../files/tables.js";

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
    { userId, copies, maxFiles }: { userId: string; copies: readonly NewCopy[]; maxFiles: number },
  ): Promise<readonly NewCopy[]> => {
    await addUser(transaction);
    const dropped: NewCopy[] = [];
    for (const copy of copies) if (!(await addCopy(transaction, copy, maxFiles))) dropped.push(copy);
    await scheduleCopy(transaction, userId);
    await sweepBy(transaction, transaction.now + LOST_COPY_MS, userId);
    return dropped;
  },
);

async function addCopy(transaction: Transaction, copy: NewCopy, maxFiles: number): Promise<boolean> {
  const { key, now, query } = transaction;
  const { source, id, url, taskId } = copy;
  const known = await findCopy(transaction, source);
  // a copy that waits is fetched from its newest address: the gateway signs them anew
  if (known && known.nextAt !== null && known.url !== "" && known.url !== url)
    await query("UPDATE file_copies SET url = ? WHERE key = ? AND source = ?", url, key, source);
  if (known) return true;
  const [counted] = await query(
    "UPDATE file_users SET copies = copies + 1 WHERE key = ? AND copies < ? RETURNING key",
    key,
    maxFiles,
  );
  if (!counted) return false;
  await query(
    `INSERT INTO file_copies (key, source, id, url, task_id, attempts, noted_at, next_at, forget_at)
      VALUES (?, ?, ?, ?, ?, 0, ?, ?, NULL)`,
    ...[key, source, id, url, taskId, now, now],
  );
  return true;
}

/** An attempt at the next copy. */
export type Attempt = {
  /** Names the attempt. */
  readonly run: string;
  readonly userId: string;
  /** Milliseconds for which it may take. */
  readonly ms: number;
};

/**
 * Begins an attempt at the copy that is due first. A user has one attempt at a time. It is counted before it runs, so that a
 * copy that ends its process has counted.
 */
export const beginCopy = operation(
  "files/begin-copy",
  async (transaction, { run, userId, ms }: Attempt): Promise<CopyRow | undefined> => {
    const { key, now, query } = transaction;
    const [user] = await query<{ run: string; source: string; until: number }>(
      'SELECT copy_run AS run, copy_source AS source, copying_until AS "until" FROM file_users WHERE key = ?',
      key,
    );
    if (user?.run === run) return await findCopy(transaction, user.source);
    if (!user || user.until > now) {
      if (user) await scheduleCopy(transaction, userId);
      return undefined;
    }
    const [due] = await selectCopies(transaction, "next_at <= ? ORDER BY next_at LIMIT 1", now);
    if (due) {
      await query(
        "UPDATE file_copies SET attempts = attempts + 1, next_at = ? WHERE key = ? AND source = ?",
        ...[now + ms, key, due.source],
      );
      await query(
        "UPDATE file_users SET copy_run = ?, copy_source = ?, copying_until = ? WHERE key = ?",
        ...[run, due.source, now + ms, key],
      );
    }
    await scheduleCopy(transaction, userId);
    return due && (await findCopy(transaction, due.source));
  },
);

/** The end of an attempt. */
export type CopyEnd = {
  readonly run: string;
  readonly userId: string;
  readonly source: string;
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
  const { source, run, retryMs, userId } = end;
  const copy = await findCopy(transaction, source);
  // one that is over has no address either
  const isDropped = !copy || (copy.url === "" && copy.nextAt !== null);
  const isOver = retryMs === null || isDropped;
  const [user] = await query("SELECT key FROM file_users WHERE key = ? AND copy_run = ?", key, run);
  if (copy && !user) return "overtaken";
  if (copy && copy.nextAt !== null) {
    const forgetAt = isOver ? now + end.rememberMs : null;
    await query(
      "UPDATE file_copies SET url = ?, next_at = ?, forget_at = ?, attempts = ? WHERE key = ? AND source = ?",
      ...[isOver ? "" : copy.url, isOver ? null : now + retryMs, forgetAt, end.attempts, key, source],
    );
    if (forgetAt !== null) {
      await query("UPDATE file_users SET copies = copies - 1 WHERE key = ?", key);
      await sweepBy(transaction, forgetAt, userId);
    }
  }
  // `copy_run` stays: a repeated `beginCopy` finds its attempt
  await query("UPDATE file_users SET copying_until = 0 WHERE key = ? AND copy_run = ?", key, run);
  await scheduleCopy(transaction, userId);
  return isDropped ? "dropped" : "ended";
});

/** Reads a copy of the key. */
async function findCopy(transaction: Transaction, source: string): Promise<CopyRow | undefined> {
  return (await selectCopies(transaction, "source = ?", source))[0];
}

/** Schedules the next attempt, behind the one that runs. */
async function scheduleCopy(transaction: Transaction, userId: string): Promise<void> {
  const { key, query } = transaction;
  const [[next], [user]] = await Promise.all([
    query<{ at: number | null }>("SELECT MIN(next_at) AS at FROM file_copies WHERE key = ?", key),
    query<{ until: number }>('SELECT copying_until AS "until" FROM file_users WHERE key = ?', key),
  ]);
  const at = next?.at ?? null;
  if (at === null) return await transaction.cancel(COPY, "");
  await transaction.schedule(COPY, { id: "", at: Math.max(at, user?.until ?? 0), input: { userId } });
}
