import type { Chat } from "./chat.js";
import { isOpen, isPending, type ThreadMessage } from "./message.js";
import { isServers } from "./placement.js";

/** True while the server works on a turn of a chat whose turns it runs. */
export function isServing({
  handedOver = 0,
  thread,
  isOnServer,
}: Pick<Chat, "handedOver" | "thread" | "isOnServer">): boolean {
  if (!isOnServer) return false;
  const node = thread.node(thread.path.at(-1)?.id);
  return handedOver > 0 || (node !== undefined && isServers(node) && goesOn(node.message));
}

/** True for the last message of a turn that goes on by itself. */
function goesOn(message: ThreadMessage): boolean {
  const { role, outcome, toolCalls = [] } = message;
  if (role !== "assistant") return false;
  const isRunning = toolCalls.some((call) => isOpen(call) && !isPending(call));
  return outcome === undefined || isRunning || (isBetweenSteps(message) && !toolCalls.some(isPending));
}

/** True for an answer that another one follows, once its calls have results. With an error none does. */
export function isBetweenSteps({ outcome, error }: ThreadMessage): boolean {
  return outcome === "tool-calls" && !error;
}
