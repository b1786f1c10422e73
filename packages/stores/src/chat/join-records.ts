import { joinCopies } from "./join.js";
import { nodeOf, recordOf } from "./records.js";

/** Two copies of a record in one. */
export interface JoinedRecord {
  /** The joined record; undefined for a removed one. */
  readonly value: unknown;
  /** True if it has something that the second copy does not have. */
  readonly isAhead: boolean;
}

/**
 * Joins two records of one message, in any order and any number of times with the same result. Undefined where one of them
 * is no message, or can't be read.
 */
export function joinMessages(key: string, mine: unknown, theirs: unknown): JoinedRecord | undefined {
  const local = nodeOf(key, mine);
  const copy = nodeOf(key, theirs);
  if (!local || !copy) return undefined;
  const { joined, isAhead } = joinCopies(local, copy);
  // a record as it was written has what this version does not know, and one that is not ahead may differ in its timing
  const value = isAhead ? (joined === local ? mine : recordOf(joined)) : theirs;
  return { value, isAhead };
}

/**
 * Joins two records of one key of a chat: the record that all devices keep. For keys that are no message, and records that
 * can't be read, `mine` wins. A removed record is none.
 */
export function joinRecords(key: string, mine: unknown, theirs: unknown): unknown {
  const joined = joinMessages(key, mine, theirs);
  if (joined) return joined.value;
  return !nodeOf(key, mine) && nodeOf(key, theirs) ? theirs : mine;
}
