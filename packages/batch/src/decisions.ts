import { type Entry, isUnresolved, type Ledger } from "./ledger.js";
import type { BatchRecord } from "./records.js";

/** Changes the record of a failed or unconfirmed request; undefined keeps the record. */
export type Decision = (record: BatchRecord) => Partial<BatchRecord> | undefined;

/** Queues a request again. Polls a video with a known task instead. */
export const sendAgain: Decision = ({ state, handle, key }) => {
  if (handle) return { state: "created", error: undefined };
  // reuses the key only after a lost response: otherwise the proxy would replay the rejection
  const isNew = state === "failed" || key === undefined;
  return { state: "waiting", error: undefined, ...(isNew && { key: undefined, sentAt: undefined }) };
};

/** Gives up an unconfirmed request. */
export const giveUp: Decision = ({ state }) => (state === "unconfirmed" ? { state: "failed" } : undefined);

/** Applies a decision to the failed and unconfirmed requests of `ids`. Returns the changed entries. */
export async function applyDecision(
  ledger: Ledger,
  ids: readonly string[],
  decision: Decision,
): Promise<readonly Entry[]> {
  const changed: Entry[] = [];
  for (const id of ids) {
    const entry = ledger.entries.get(id);
    const change = entry?.record && isUnresolved(entry) ? decision(entry.record) : undefined;
    if (!entry || !change) continue;
    await ledger.save(entry, change);
    changed.push(entry);
  }
  return changed;
}
