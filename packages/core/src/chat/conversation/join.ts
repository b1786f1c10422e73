import { isOpen } from "./message.js";
import type { JoinCopies } from "./message-tree.js";
import type { PlacedMessage } from "./placement.js";

/** Joins two copies: the newer one, with results of tools that only the older one has. All tabs get the same result. */
export function joinCopies(local: PlacedMessage, copy: PlacedMessage): ReturnType<JoinCopies> {
  const joined = join(local, copy);
  return { joined, isAhead: joined.revision !== copy.revision || endOf(joined) !== endOf(copy) };
}

function join(local: PlacedMessage, copy: PlacedMessage): PlacedMessage {
  const isNewer =
    copy.revision - local.revision ||
    Number(isGuess(local)) - Number(isGuess(copy)) ||
    Number(statesOf(copy) > statesOf(local)) - Number(statesOf(copy) < statesOf(local)) ||
    // two tabs have gone on from one state: a whole answer is worth more than a part that was read on
    Number(isWhole(copy)) - Number(isWhole(local));
  const [newer, older] = isNewer > 0 ? [copy, local] : [local, copy];
  const missed = newer.message.toolCalls?.map((call) => {
    const other = isOpen(call) && older.message.toolCalls?.find(({ id }) => id === call.id);
    return other && !isOpen(other) ? other : call;
  });
  return missed?.some((call, index) => call !== newer.message.toolCalls?.[index])
    ? { ...newer, message: { ...newer.message, toolCalls: missed } }
    : newer;
}

/**
 * True for an end that a tab has given to an answer of another one, which seemed to be closed. If the other tab was
 * open, and could only not write, its own end is the true one.
 */
function isGuess({ message }: PlacedMessage): boolean {
  return message.outcome === "interrupted";
}

function isWhole({ message }: PlacedMessage): boolean {
  return message.outcome === "complete";
}

function statesOf({ message }: PlacedMessage): string {
  return String(message.toolCalls?.map(({ state }) => state));
}

function endOf(node: PlacedMessage): string {
  return `${statesOf(node)} ${isGuess(node)} ${isWhole(node)}`;
}
