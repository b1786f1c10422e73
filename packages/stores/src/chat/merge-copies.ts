import { type ChatToolCall, isInterrupted, isOpen } from "./message.js";
import type { MergeCopies } from "./thread.js";
import { isFromServer, type MessageNode } from "./tree.js";

/**
 * Merges two copies of a message: the newer copy, with tool results that only the older one has. The order of the copies
 * does not matter, so that all tabs and devices get the same result.
 *
 * @param device id of this device, if devices share the thread; used for copies without a device
 */
export function mergeCopies(local: MessageNode, copy: MessageNode, device?: string): ReturnType<MergeCopies> {
  const merged = mergeNodes(local, copy, device);
  return {
    merged,
    isAhead: describeNode(merged, device) !== describeNode(copy, device) && !isServerDraft(merged),
  };
}

function mergeNodes(local: MessageNode, copy: MessageNode, device: string | undefined): MessageNode {
  const isNewer =
    Number(isServerDraft(local)) - Number(isServerDraft(copy)) ||
    // a final end wins, no matter how much text another device has read
    Number(hasFinalEnd(copy)) - Number(hasFinalEnd(local)) ||
    copy.revision - local.revision ||
    // the server's reason for the end wins over the stop of a page
    Number(hasServerReason(copy)) - Number(hasServerReason(local)) ||
    Number(isGuess(local)) - Number(isGuess(copy)) ||
    // two tabs continued from one state: a complete response wins over a partial one
    Number(isComplete(copy)) - Number(isComplete(local)) ||
    copy.message.content.length - local.message.content.length ||
    compare(copy.message.content, local.message.content) ||
    compare(describeRest(copy, device), describeRest(local, device)) ||
    // last, because a merged copy differs from its sources only in its calls
    compare(describeCalls(copy), describeCalls(local));
  const [newer, older] = isNewer > 0 ? [copy, local] : [local, copy];
  const node = addMarks(older, newer);
  const missed = node.message.toolCalls?.map((call) => {
    const other = isOpen(call) && older.message.toolCalls?.find(({ id }) => id === call.id);
    return other && !isOpen(other) ? other : call;
  });
  return missed?.some((call, index) => call !== node.message.toolCalls?.[index])
    ? { ...node, message: { ...node.message, toolCalls: missed } }
    : node;
}

/** Adds the stop mark and the key of `setMessages` if only the older copy has them. */
function addMarks({ isStopped, key }: MessageNode, newer: MessageNode): MessageNode {
  const marks = { ...(isStopped && !newer.isStopped && { isStopped }), ...(key && !newer.key && { key }) };
  return Object.keys(marks).length > 0 ? { ...newer, ...marks } : newer;
}

/**
 * Returns true if no device continues to read the response. `retry` continues a response with a `streamId`, and a guess
 * may be wrong. If a server gave up with a reason, a retry creates another message.
 */
function hasFinalEnd(node: MessageNode): boolean {
  const { outcome, streamId } = node.message;
  return outcome !== undefined && (hasServerReason(node) || (streamId === undefined && !isGuess(node)));
}

/** Returns true for a response of a server that ended with a reason. */
function hasServerReason(node: MessageNode): boolean {
  const { outcome, error } = node.message as { outcome?: string; error?: { code?: unknown } };
  const isLeft = isInterrupted(node.message) && error?.code === undefined;
  return isFromServer(node) && outcome !== undefined && error !== undefined && !isLeft;
}

/** Returns true for an unfinished response of a server. Pages do not write it, because only the server knows its state. */
function isServerDraft(node: MessageNode): boolean {
  return isFromServer(node) && node.message.role === "assistant" && node.message.outcome === undefined;
}

/**
 * Returns true for an end that one tab wrote because another tab seemed to be closed. If that tab was open and only failed
 * to write, its own end wins.
 */
function isGuess({ message }: MessageNode): boolean {
  return isInterrupted(message);
}

function isComplete({ message }: MessageNode): boolean {
  return message.outcome === "complete";
}

/** Describes the fields that may differ between copies of one revision. */
function describeRest({ message, by }: MessageNode, device: string | undefined): string {
  const { outcome, streamId, idempotencyKey, reasoning, toolCalls } = message;
  const end = isInterrupted(message) ? "interrupted" : outcome;
  return `${end} ${streamId} ${idempotencyKey} ${by ?? device} ${reasoning} ${toolCalls?.map(({ id }) => id)}`;
}

function describeCalls({ message }: MessageNode): string {
  return String(message.toolCalls?.map((call) => `${call.state} ${describeResult(call)}`));
}

function describeResult({ id, output, error, savedState }: ChatToolCall): string {
  return output === undefined && error === undefined && savedState === undefined
    ? id
    : JSON.stringify([id, output, error, savedState]);
}

function compare(one: string, other: string): number {
  return Number(one > other) - Number(one < other);
}

/** Describes every field that can differ between two copies. */
function describeNode(node: MessageNode, device: string | undefined): string {
  const { revision, isStopped, key, message } = node;
  return `${revision} ${isStopped} ${key} ${describeRest(node, device)} ${describeCalls(node)} ${message.content}`;
}
