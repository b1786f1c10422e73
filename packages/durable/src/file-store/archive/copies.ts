import { operation, type Transaction } from "@sluice/worker-proxy/plugin";
import {
  addToSums,
  createRow,
  type FileRow,
  insertFile,
  readOrAddSums,
  scheduleJobs,
  selectFiles,
  type UserInput,
  updateFile,
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

/** Adds new results while fewer than `maxFiles` copies are pending. Returns the dropped copies. */
export const addCopies = operation(
  "files/add-copies",
  async (
    transaction,
    { userId, copies, maxFiles }: UserInput & { copies: readonly NewCopy[]; maxFiles: number },
  ): Promise<readonly NewCopy[]> => {
    let { copies: pending } = await readOrAddSums(transaction, userId);
    const dropped: NewCopy[] = [];
    for (const copy of copies) {
      if (await updateCopy(transaction, copy)) continue;
      if (pending >= maxFiles) dropped.push(copy);
      else {
        const row = { ...createRow(copy.id, transaction.now), ...copy, isCopy: 1, state: "queued" } as const;
        await insertFile(transaction, { ...row, claim: "", dueAt: transaction.now });
        await addToSums(transaction, { copies: 1 });
        pending += 1;
      }
    }
    await scheduleJobs(transaction);
    return dropped;
  },
);

/** Returns true for a known copy. The gateway signs URLs again, so a pending copy gets the latest URL. */
async function updateCopy(transaction: Transaction, { source, url }: NewCopy): Promise<boolean> {
  const [known] = await selectFiles(transaction, "source = ?", source);
  if (known && known.url !== null && known.url !== url) await updateFile(transaction, known.id, { url });
  return known !== undefined;
}

/**
 * Starts an attempt at the copy with the earliest due time. The attempt is counted before it runs. The next attempt
 * starts after this attempt has ended or timed out. A user has one copy job at a time.
 *
 * @param claim unique id of the attempt
 */
export const beginCopy = operation(
  "files/begin-copy",
  async (
    transaction,
    { claim, claimMs }: { readonly claim: string; readonly claimMs: number },
  ): Promise<FileRow | undefined> => {
    const { now } = transaction;
    const due = "state = 'queued' AND due_at <= ? ORDER BY due_at LIMIT 1";
    const [copy] = await selectFiles(transaction, due, now);
    if (!copy) return undefined;
    const attempts = copy.attempts + 1;
    const begun = await updateFile(transaction, copy.id, { claim, attempts, dueAt: now + claimMs });
    await scheduleJobs(transaction, { isLater: true });
    return begun;
  },
);
