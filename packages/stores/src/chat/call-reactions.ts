import { ConfigurationError } from "@sluice/core";
import type { Chat, ReadOptions } from "./chat.js";
import { isOpen, isPending, type ThreadMessage, type ThreadToolCall, type ThreadTurn } from "./message.js";
import { notSent } from "./not-sent.js";
import { lastMessage } from "./shown.js";
import { callChanged } from "./turn/tools.js";
import { startTurn } from "./turns.js";

/** Change of a call that the user or the app has reacted to. */
export type CallChange = (call: ThreadToolCall) => ThreadToolCall;

/**
 * Changes the call that waits in this state, and continues the turn when no call waits any more. The first reaction of
 * all tabs counts.
 */
export function reactToCall(
  chat: Chat,
  read: ReadOptions,
  toolCallId: string,
  state: ThreadToolCall["state"],
  change: CallChange,
): Promise<ThreadTurn> {
  const { storage } = chat;
  const findCall = (message: ThreadMessage | undefined) =>
    message?.toolCalls?.find((call) => call.id === toolCallId && call.state === state);
  return storage.whenReady(() => {
    const message = lastMessage(chat);
    if (!message || !findCall(message) || chat.run) return react();
    return storage.withLockOf(message.id, () => react(message.id));
  });

  /** @param locked id of the message whose call waited before this tab waited for the lock */
  function react(locked?: string): ThreadTurn | Promise<ThreadTurn> {
    const message = lastMessage(chat);
    const call = findCall(message);
    if (message && call) return changeCall(chat, read, message, call, change);
    // another tab answered the call, and was closed before it continued
    if (message && message.id === locked && !chat.run && !message.toolCalls?.some(isOpen))
      return continueTurn(chat, read, locked);
    const unknown = `toolCallId: no call "${toolCallId}" waits for this`;
    return chat.run?.turn ?? notSent(new ConfigurationError(unknown));
  }
}

/** Changes a call. The turn in flight takes the change over; without one the turn continues. */
function changeCall(
  chat: Chat,
  read: ReadOptions,
  message: ThreadMessage,
  call: ThreadToolCall,
  change: CallChange,
): ThreadTurn | Promise<ThreadTurn> {
  const { run } = chat;
  const toolCalls = message.toolCalls?.map((each) => (each === call ? change(call) : each)) ?? [];
  const changed = { ...message, toolCalls };
  chat.thread.put(changed);
  chat.store.flush();
  if (run) {
    callChanged(run);
    return run.turn;
  }
  const isHeldUp = toolCalls.some(isPending) && !toolCalls.some(({ state }) => state === "running");
  return isHeldUp ? { messages: [changed], outcome: "tool-calls" } : continueTurn(chat, read, message.id);
}

function continueTurn(chat: Chat, read: ReadOptions, message: string): Promise<ThreadTurn> {
  return startTurn(chat, () => ({ below: message, added: [message] }), chat.options ?? read, { message });
}
