import { randomId } from "@sluice/core/internal";
import type { Chat } from "./chat.js";
import { closeCalls } from "./insertion-point.js";
import type { ThreadMessage } from "./message.js";
import type { Thread } from "./message-tree.js";
import { stopTurn } from "./turn/end.js";

/**
 * Ends the turn in flight, the waits of verbs, and the queue of this page.
 *
 * @param isLeft true where the calls that wait are left to other devices
 */
export function stop(chat: Chat, isLeft = false): void {
  const { thread, queue, storage, store, run } = chat;
  queue.dropAll(givenBack(chat), false);
  storage.stop(stopped());
  if (run) stopTurn(run);
  else if (!isLeft) closeCalls(thread, "the user stopped before the call had a result");
  store.flush();
}

/** Stops, and replaces the whole thread. */
export function replaceAll(chat: Chat, messages: readonly ThreadMessage[]): void {
  stop(chat);
  const { thread, queue, store } = chat;
  queue.dropAll(stopped(), true);
  chat.error = undefined;
  for (const known of thread.ids()) thread.remove(known);
  // their answers have new keys: a server that remembers may still have those that the app has taken away
  addAll(thread, messages, randomId);
  store.flush();
}

/** Removes all, and reads nothing until the returned function is called: the storage has removed it, too. */
export function forget(chat: Chat): () => void {
  const { storage } = chat;
  const wasOpen = storage.phase === "reading" || storage.phase === "open";
  replaceAll(chat, []);
  storage.close();
  return () => {
    if (wasOpen) void storage.whenRestored(() => {});
  };
}

/** Adds messages to a thread, each below the one before. */
export function addAll(
  thread: Thread,
  messages: readonly ThreadMessage[],
  newKey: () => string | undefined = () => undefined,
): void {
  messages.forEach((message, index) => {
    thread.add(message, messages[index - 1]?.id, newKey());
  });
}

/** Makes the error of a queued message that is given back. */
export function givenBack({ storage }: Chat): DOMException {
  return storage.keeper?.sync()?.error
    ? stopped("; until this device is back in touch with the server, another one may still send it")
    : stopped();
}

/** Makes the error of a turn that was stopped before it began. */
export function stopped(more = ""): DOMException {
  return new DOMException(`The chat was stopped before its turn${more}`, "AbortError");
}
