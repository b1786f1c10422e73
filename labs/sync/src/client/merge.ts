import { mergeRecords } from "@sluice/stores/extend";
import { isEqual, isObject } from "./json.js";
import { hasTurn, isInFlight, isMessage } from "./records.js";

/*
 * The merge rule. A record is the value of the protocol: null for a removed record. The records of a chat are
 * `{ message, parent, revision }`. A record that a server turn wrote also has the id of the turn, as `turn`.
 */

/**
 * Merges a change of this device with the server's value of the record.
 *
 * - A record of a server turn: the server's value.
 * - Two copies of a message: the copy that is finished or has more, with the tool results of both.
 * - Two values with a `revision`: the value with the higher one.
 * - Otherwise the change of this device. So a change wins over a removal on another device.
 */
export function mergeChange(key: string, mine: unknown, theirs: unknown): unknown {
  if (isEqual(mine, theirs) || (hasTurn(theirs) && mine !== null)) return theirs;
  if (mine === null && theirs !== null) return isFinishedMessage(theirs) ? theirs : mine;
  if (!isObject(mine) || !isObject(theirs)) return mine;
  if (isMessage(mine) && isMessage(theirs)) return mergeRecords(key, mine, theirs);
  const [myRevision, theirRevision] = [mine["revision"], theirs["revision"]];
  const hasRevisions = typeof myRevision === "number" && typeof theirRevision === "number";
  return hasRevisions && theirRevision > myRevision ? theirs : mine;
}

/**
 * Merges a record that the server confirmed earlier with the server's current value, after the server lost its history.
 * Only messages show which copy is newer. For all other records the server's value wins.
 */
export function mergeCopy(key: string, mine: unknown, theirs: unknown): unknown {
  return isMessage(mine) && isMessage(theirs) && !hasTurn(theirs) ? mergeRecords(key, mine, theirs) : theirs;
}

/** Returns true for a finished message. A removal does not delete it: the device may not have seen its end. */
function isFinishedMessage(value: unknown): boolean {
  return isMessage(value) && !isInFlight(value);
}
