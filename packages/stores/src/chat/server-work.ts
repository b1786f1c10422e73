import type { Chat } from "./chat.js";
import { isOpen, isPending } from "./message.js";
import { isServers, type PlacedMessage } from "./placement.js";

/** True while the server works on a turn of a chat whose turns it runs. */
export function isServing({
  handedOver = 0,
  thread,
  runner,
}: Pick<Chat, "handedOver" | "thread" | "runner">): boolean {
  if (!runner) return false;
  const node = thread.node(thread.path.at(-1)?.id);
  return handedOver > 0 || (node !== undefined && isServers(node) && goesOn(node));
}

/** True for the last message of a turn that goes on by itself. */
function goesOn(node: PlacedMessage): boolean {
  const { role, outcome, toolCalls = [] } = node.message;
  if (role !== "assistant") return false;
  const isRunning = toolCalls.some((call) => isOpen(call) && !isPending(call));
  return outcome === undefined || isRunning || (isBetweenSteps(node) && !toolCalls.some(isPending));
}

/** True for an answer that another one follows, once its calls have results. With an error or a stop none does. */
export function isBetweenSteps({ message, isStopped }: PlacedMessage): boolean {
  return message.outcome === "tool-calls" && !message.error && !isStopped;
}

/** Returns the signal of the next stop of a chat. */
export function stopSignalOf(chat: Pick<Chat, "stopping">): AbortSignal {
  chat.stopping ??= new AbortController();
  return chat.stopping.signal;
}
