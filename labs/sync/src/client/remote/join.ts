import { isRecord } from "@sluice/core/extend";
import { isEqual, mergeMessages, parseNode } from "@sluice/stores/extend";
import type { MergedRecord } from "../base.js";
import { CONVERSATIONS } from "./place.js";

/**
 * Joins a record of this browser with the server's copy, by the rules that tabs have: messages as their chat joins them,
 * conversations by their revision. A removal wins on either side.
 *
 * @param base record that the change here stands on, where that is known
 * @param isDirty true for a record that was changed here and not sent yet: of those that can't be joined, it wins
 */
export function joinRecords(
  collection: string,
  key: string,
  mine: unknown,
  theirs: unknown,
  isDirty: boolean,
  base?: unknown,
): MergedRecord {
  if (mine === undefined || theirs === undefined)
    return { value: undefined, isAhead: theirs !== undefined && isDirty };
  if (key.startsWith(SEEN)) return joinSeen(mine, theirs);
  if (collection === CONVERSATIONS) return joinConversations(mine, theirs, base);
  const joined = mergeMessages(key, mine, theirs);
  if (joined) return joined;
  if (parseNode(key, theirs) || !(isDirty || parseNode(key, mine))) return { value: theirs, isAhead: false };
  return { value: mine, isAhead: !isEqual(mine, theirs) };
}

/** Keys of the records that say up to where a user was shown a conversation. */
const SEEN = "~seen/";

/** Takes the one that says more: what was shown on one device was shown. */
function joinSeen(mine: unknown, theirs: unknown): MergedRecord {
  const at = (record: unknown) => (isRecord(record) ? Number(record["at"]) || 0 : 0);
  const isAhead = at(mine) > at(theirs);
  return { value: isAhead ? mine : theirs, isAhead };
}

/** Takes the newer revision; of two changes to one record, the fields that each has changed. */
function joinConversations(mine: unknown, theirs: unknown, base: unknown): MergedRecord {
  const isNewer = revisionOf(mine) > revisionOf(theirs);
  if (!isRecord(mine) || !isRecord(theirs) || !isRecord(base))
    return { value: isNewer ? mine : theirs, isAhead: isNewer };
  const value: Record<string, unknown> = { ...theirs };
  for (const field of new Set([...Object.keys(mine), ...Object.keys(base)])) {
    const isMine = !isEqual(mine[field], base[field]);
    if (isMine && (isNewer || isEqual(theirs[field], base[field]))) value[field] = mine[field];
  }
  const isAhead = !isEqual({ ...value, revision: 0 }, { ...theirs, revision: 0 });
  // newer than both, so that every device takes it
  const revision = Math.max(revisionOf(mine), revisionOf(theirs)) + 1;
  return isAhead ? { value: { ...value, revision }, isAhead } : { value: theirs, isAhead };
}

function revisionOf(record: unknown): number {
  const { revision } = isRecord(record) ? record : {};
  return typeof revision === "number" ? revision : 0;
}
