import { type ChatToolCall, isInterrupted, isOpen } from "./message.js";
import { parseNode, toRecord } from "./records.js";
import type { MergeCopies, MessageNode } from "./thread.js";

/**
 * Merges two copies of a message: the newer copy, with tool results that only the older one has. The order of the copies
 * does not matter, so that all tabs and devices get the same result. Only its runner changes a message of a runner.
 */
export function mergeCopies(local: MessageNode, copy: MessageNode): ReturnType<MergeCopies> {
  const merged = mergeNodes(local, copy);
  return { merged, isAhead: describeNode(merged) !== describeNode(copy) };
}

function mergeNodes(local: MessageNode, copy: MessageNode): MessageNode {
  // positive if the copy is newer; a later rule decides only if the earlier ones are equal
  const order =
    Number(copy.turn !== undefined) - Number(local.turn !== undefined) ||
    // a final end wins, no matter how much text another device has read
    Number(hasFinalEnd(copy)) - Number(hasFinalEnd(local)) ||
    copy.revision - local.revision ||
    Number(isInterrupted(local.message)) - Number(isInterrupted(copy.message)) ||
    // two tabs continued from one state: a complete response wins over a partial one
    Number(isComplete(copy)) - Number(isComplete(local)) ||
    copy.message.content.length - local.message.content.length ||
    compare(describeMessage(copy), describeMessage(local));
  const [newer, older] = order > 0 ? [copy, local] : [local, copy];
  if (newer.turn !== undefined) return newer;
  const node = addKey(older, newer);
  const toolCalls = node.message.toolCalls?.map((call) => {
    const other = isOpen(call) && older.message.toolCalls?.find(({ id }) => id === call.id);
    return other && !isOpen(other) ? other : call;
  });
  return toolCalls?.some((call, index) => call !== node.message.toolCalls?.[index])
    ? { ...node, message: { ...node.message, toolCalls } }
    : node;
}

/** Adds the key of `setMessages` if only the older copy has it. */
function addKey({ key }: MessageNode, newer: MessageNode): MessageNode {
  return key && !newer.key ? { ...newer, key } : newer;
}

/**
 * Returns true if no device continues to read the response. `retry` continues a response with a `streamId`. A tab writes
 * an interrupted end for a tab that seems closed. If that tab was open and only failed to write, its own end wins.
 */
function hasFinalEnd({ message }: MessageNode): boolean {
  return message.outcome !== undefined && message.streamId === undefined && !isInterrupted(message);
}

function isComplete({ message }: MessageNode): boolean {
  return message.outcome === "complete";
}

/** Describes the fields that can differ. The calls are last, because a merged copy differs from its sources only there. */
function describeMessage({ message, turn }: MessageNode): string {
  const { content, outcome, streamId, idempotencyKey, reasoning, toolCalls } = message;
  const end = isInterrupted(message) ? "interrupted" : outcome;
  const calls = `${toolCalls?.map(({ id }) => id)} ${toolCalls?.map(describeCall)}`;
  return `${content} ${end} ${streamId} ${idempotencyKey} ${turn} ${reasoning} ${calls}`;
}

function describeCall({ id, state, output, error, savedState }: ChatToolCall): string {
  return JSON.stringify([id, state, output, error, savedState]);
}

function compare(a: string, b: string): number {
  return Number(a > b) - Number(a < b);
}

function describeNode(node: MessageNode): string {
  return `${node.revision} ${node.key} ${describeMessage(node)}`;
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
  const local = parseNode(key, localRecord);
  const copy = parseNode(key, remoteRecord);
  if (!copy) return localRecord;
  if (!local) return remoteRecord;
  const { merged, isAhead } = mergeCopies(local, copy);
  if (!isAhead) return remoteRecord;
  // the original record may have fields that this version does not know, or another timing
  return merged === local ? localRecord : toRecord(merged);
}
