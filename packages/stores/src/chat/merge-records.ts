import { mergeCopies } from "./merge-copies.js";
import { parseNode, toRecord } from "./records.js";

/** Result of merging two copies of a record. */
export interface MergedRecord {
  /** The merged record; undefined for a removed one. */
  readonly value: unknown;
  /** True if the second copy lacks something of the merged record. */
  readonly isAhead: boolean;
}

/**
 * Merges two records of one message. The result does not depend on the order or the number of merges. Returns undefined
 * if one of them is not a message or can't be read.
 */
export function mergeMessages(
  key: string,
  localRecord: unknown,
  remoteRecord: unknown,
): MergedRecord | undefined {
  const local = parseNode(key, localRecord);
  const copy = parseNode(key, remoteRecord);
  if (!local || !copy) return undefined;
  const { merged, isAhead } = mergeCopies(local, copy);
  // the original record may have fields that this version does not know, or another timing
  const value = isAhead ? (merged === local ? localRecord : toRecord(merged)) : remoteRecord;
  return { value, isAhead };
}

/**
 * Merges two records of one key of a chat into the record that all devices store: for a storage whose records several
 * devices change. The result does not depend on the order of the merges. For a key that is not a message, or a record
 * that can't be read, the local record wins. A removed record counts as unreadable.
 *
 * @example
 * ```ts
 * function mergeAll(local: ReadonlyMap<string, unknown>, remote: ReadonlyMap<string, unknown>) {
 *   return new Map([...remote].map(([key, record]) => [key, mergeRecords(key, local.get(key), record)]));
 * }
 * ```
 */
export function mergeRecords(key: string, localRecord: unknown, remoteRecord: unknown): unknown {
  const merged = mergeMessages(key, localRecord, remoteRecord);
  if (merged) return merged.value;
  return !parseNode(key, localRecord) && parseNode(key, remoteRecord) ? remoteRecord : localRecord;
}
