import { joinCopies } from "./join.js";
import { nodeOf, recordOf } from "./records.js";

/**
 * Joins two records of one key of a chat, in any order and any number of times with the same result: the record that all
 * devices keep. For keys that are no message, and records that can't be read, `mine` wins. A removed record is none.
 */
export function joinRecords(key: string, mine: unknown, theirs: unknown): unknown {
  const local = nodeOf(key, mine);
  const copy = nodeOf(key, theirs);
  if (!local || !copy) return !local && copy ? theirs : mine;
  const { joined } = joinCopies(local, copy);
  if (joined === local) return mine;
  return joined === copy ? theirs : recordOf(joined);
}
