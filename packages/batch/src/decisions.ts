import { type Entry, isLeft, type Ledger } from "./ledger.js";
import type { BatchRecord } from "./records.js";

/** Changes the record of a failed or unconfirmed request; undefined leaves the record as it is. */
export type Decision = (record: BatchRecord) => Partial<BatchRecord> | undefined;

/** Lets a request be sent again. A video whose task is known is polled instead. */
export const sentAgain: Decision = ({ state, handle, key }) => {
  if (handle) return { state: "created", error: undefined };
  // the same key only for an answer that was lost: a refusal would come again
  const isNew = state === "failed" || key === undefined;
  return { state: "waiting", error: undefined, ...(isNew && { key: undefined, sentAt: undefined }) };
};

/** Gives up an unconfirmed request. */
export const skipped: Decision = ({ state }) => (state === "unconfirmed" ? { state: "failed" } : undefined);

/** Changes the failed and unconfirmed requests of `ids`. Returns the changed entries. */
export async function decideOn(
  ledger: Ledger,
  ids: readonly string[],
  decision: Decision,
): Promise<readonly Entry[]> {
  const changed: Entry[] = [];
  for (const id of ids) {
    const entry = ledger.entries.get(id);
    const change = entry?.record && isLeft(entry) ? decision(entry.record) : undefined;
    if (!entry || !change) continue;
    await ledger.save(entry, change);
    changed.push(entry);
  }
  return changed;
}
