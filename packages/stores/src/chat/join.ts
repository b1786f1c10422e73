import { type ChatToolCall, isInterrupted, isOpen } from "./message.js";
import type { JoinCopies } from "./thread.js";
import { isServers, type PlacedMessage } from "./tree.js";

/**
 * Joins two copies: the newer one, with results of tools that only the older one has. All tabs and devices get the same
 * result, in whatever order the copies come.
 *
 * @param device id of this device, where devices share the thread: that of copies without one
 */
export function joinCopies(
  local: PlacedMessage,
  copy: PlacedMessage,
  device?: string,
): ReturnType<JoinCopies> {
  const joined = join(local, copy, device);
  return { joined, isAhead: stateOf(joined, device) !== stateOf(copy, device) && !isServersPart(joined) };
}

function join(local: PlacedMessage, copy: PlacedMessage, device: string | undefined): PlacedMessage {
  const isNewer =
    Number(isServersPart(local)) - Number(isServersPart(copy)) ||
    // the end of an answer that can't be read on is its end, however much an older device has read meanwhile
    Number(isFinal(copy)) - Number(isFinal(local)) ||
    copy.revision - local.revision ||
    // why a server has ended, a page that stops it does not know
    Number(isGivenUp(copy)) - Number(isGivenUp(local)) ||
    Number(isGuess(local)) - Number(isGuess(copy)) ||
    // two tabs have gone on from one state: a whole answer is worth more than a part that was read on
    Number(isWhole(copy)) - Number(isWhole(local)) ||
    copy.message.content.length - local.message.content.length ||
    compare(copy.message.content, local.message.content) ||
    compare(restOf(copy, device), restOf(local, device)) ||
    // last, because a joined copy differs from its parts in its calls alone
    compare(callsOf(copy), callsOf(local));
  const [newer, older] = isNewer > 0 ? [copy, local] : [local, copy];
  const node = withMarksOf(older, newer);
  const missed = node.message.toolCalls?.map((call) => {
    const other = isOpen(call) && older.message.toolCalls?.find(({ id }) => id === call.id);
    return other && !isOpen(other) ? other : call;
  });
  return missed?.some((call, index) => call !== node.message.toolCalls?.[index])
    ? { ...node, message: { ...node.message, toolCalls: missed } }
    : node;
}

/** Adds what only the older copy has: the mark of a stop, and the key that `setMessages` of another tab gave. */
function withMarksOf({ isStopped, key }: PlacedMessage, newer: PlacedMessage): PlacedMessage {
  const marks = { ...(isStopped && !newer.isStopped && { isStopped }), ...(key && !newer.key && { key }) };
  return Object.keys(marks).length > 0 ? { ...newer, ...marks } : newer;
}

/**
 * True for the end of an answer that nobody reads on. `retry` reads on what has a `streamId`, and a guess may be wrong. A
 * server that gives its answer up says why, and a retry of that makes another message.
 */
function isFinal(node: PlacedMessage): boolean {
  const { outcome, streamId } = node.message;
  return outcome !== undefined && (isGivenUp(node) || (streamId === undefined && !isGuess(node)));
}

/** True for an answer of a server that says why it ended. */
function isGivenUp(node: PlacedMessage): boolean {
  const { outcome, error } = node.message as { outcome?: string; error?: { code?: unknown } };
  const isLeft = isInterrupted(node.message) && error?.code === undefined;
  return isServers(node) && outcome !== undefined && error !== undefined && !isLeft;
}

/** True for a part of an answer of a server. Only the server knows if it grows: no page keeps it, or says that it does. */
function isServersPart(node: PlacedMessage): boolean {
  return isServers(node) && node.message.role === "assistant" && node.message.outcome === undefined;
}

/**
 * True for an end that a tab has given to an answer of another one, which seemed to be closed. If the other tab was
 * open, and could only not write, its own end is the true one.
 */
function isGuess({ message }: PlacedMessage): boolean {
  return isInterrupted(message);
}

function isWhole({ message }: PlacedMessage): boolean {
  return message.outcome === "complete";
}

/** Fields that may differ in two copies of one revision. */
function restOf({ message, by }: PlacedMessage, device: string | undefined): string {
  const { outcome, streamId, idempotencyKey, reasoning, toolCalls } = message;
  const end = isInterrupted(message) ? "interrupted" : outcome;
  return `${end} ${streamId} ${idempotencyKey} ${by ?? device} ${reasoning} ${toolCalls?.map(({ id }) => id)}`;
}

function callsOf({ message }: PlacedMessage): string {
  return String(message.toolCalls?.map((call) => `${call.state} ${resultOf(call)}`));
}

function resultOf({ id, output, error, savedState: kept }: ChatToolCall): string {
  return output === undefined && error === undefined && kept === undefined
    ? id
    : JSON.stringify([id, output, error, kept]);
}

function compare(one: string, other: string): number {
  return Number(one > other) - Number(one < other);
}

/** All by which two copies can differ. */
function stateOf(node: PlacedMessage, device: string | undefined): string {
  const { revision, isStopped, key, message } = node;
  return `${revision} ${isStopped} ${key} ${restOf(node, device)} ${callsOf(node)} ${message.content}`;
}
