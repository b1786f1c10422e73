import type { OutboxEntry } from "./copy.js";
import { mergeChange } from "./merge.js";
import { findParent, isInFlight } from "./records.js";

/** The change of one record, with its entries of the outbox. */
export interface PendingChange {
  readonly key: string;
  readonly value: unknown;
  readonly base: number;
  readonly entries: readonly OutboxEntry[];
}

/** Maximum size of the changes of one push, in bytes. */
const MAX_BYTES = 1_000_000;

/** Groups the entries of one collection by record. Changes of several tabs to one record become one. */
export function groupByRecord(entries: readonly OutboxEntry[]): Map<string, PendingChange> {
  const changes = new Map<string, PendingChange>();
  for (const entry of entries) {
    const { key, value, base } = entry;
    const known = changes.get(key);
    changes.set(key, {
      key,
      // a removal is intended: it is not merged, and the later change wins
      value: known && value !== null && known.value !== null ? mergeChange(key, value, known.value) : value,
      base: known ? Math.min(base, known.base) : base,
      entries: [...(known?.entries ?? []), entry],
    });
  }
  return changes;
}

/**
 * Lists the changes that can be sent, parents first. A refused message and a response in flight hold back the messages
 * below them, because other devices would show a gap.
 */
export function listReady(
  changes: ReadonlyMap<string, PendingChange>,
  isRefused: (key: string) => boolean,
): readonly PendingChange[] {
  const ready: PendingChange[] = [];
  const isReady = new Map<string, boolean>();
  for (const change of changes.values()) {
    const path: PendingChange[] = [];
    for (
      let next: PendingChange | undefined = change;
      next && !isReady.has(next.key);
      next = changes.get(findParent(next.value) ?? "")
    ) {
      // a cycle of parents must not hold anything back
      isReady.set(next.key, true);
      path.push(next);
    }
    for (const ancestor of path.reverse()) {
      const parent = findParent(ancestor.value);
      const isHeldBack = parent !== undefined && isReady.get(parent) === false;
      const canBeSent = !isHeldBack && !isRefused(ancestor.key) && !isInFlight(ancestor.value);
      isReady.set(ancestor.key, canBeSent);
      if (canBeSent) ready.push(ancestor);
    }
  }
  return ready;
}

/** Takes the changes of one push: at least one, up to `limit` and {@link MAX_BYTES}. */
export function cutBatch(ready: readonly PendingChange[], limit: number): readonly PendingChange[] {
  let bytes = 0;
  const end = ready.findIndex(({ key, value }, index) => {
    bytes += new TextEncoder().encode(JSON.stringify([key, value])).length;
    return index > 0 && (index === limit || bytes > MAX_BYTES);
  });
  return end < 0 ? ready : ready.slice(0, end);
}
