import { ConfigurationError } from "@sluice/core";
import { isolate } from "@sluice/core/internal";
import { type Chat, lastMessage, type ReadOptions, refresh } from "./chat.js";
import { type ChatMessage, type ChatTurn, isPending, QUEUED } from "./message.js";
import { addQuestion, addVersion, type FindPlace } from "./place.js";
import type { QueuedMessage, QueueEntry } from "./queue.js";
import { createTurn, startTurn, stopTurn } from "./turn.js";
import { elsewhere, notSent, unlessRefused } from "./turn-ends.js";

/** Reason of a turn that is not sent, because another one is in flight. */
export const BUSY =
  'an answer is under way: wait for it, stop() it, or set `whenBusy` to "queue" or "replace"';

/**
 * Starts a turn if none is in flight, otherwise does what `whenBusy` says. Only new messages can be queued: the message
 * that a version belongs to may be removed before.
 */
export function startIfFree(
  chat: Chat,
  read: ReadOptions,
  find: FindPlace,
  message?: QueuedMessage,
): Promise<ChatTurn> {
  return unlessRefused(read, async ({ whenBusy = "reject" }) => {
    if (chat.turn && whenBusy === "queue" && message) return enqueue(chat, message, read);
    if (chat.turn && whenBusy === "replace") stopTurn(chat.turn);
    return chat.turn ? notSent(new ConfigurationError(BUSY)) : beginTurn(chat, find, read);
  });
}

/** Begins a turn below the shown messages, or continues one: the turn of `message`, or the response that a tab has left. */
export function beginTurn(
  chat: Chat,
  find: FindPlace,
  read: ReadOptions,
  { left, message = left?.id }: { left?: ChatMessage; message?: string } = {},
): Promise<ChatTurn> {
  const { client, id: chatId, thread, storage, store } = chat;
  const owner = new AbortController();
  // a branch that another tab adds meanwhile does not replace this one
  thread.choose(lastMessage(chat)?.id);
  return unlessRefused(
    () => find(owner.signal),
    (place) => {
      const turn = createTurn({
        client,
        chatId,
        thread,
        storage,
        store,
        options: read,
        refresh: () => refresh(chat),
        owner,
        left,
        workedOn: message,
        onEnd: (end) => endTurn(chat, end, read),
      });
      Object.assign(chat, { turn, error: undefined, options: read });
      startTurn(turn, place);
      store.flush();
      return turn.result;
    },
  );
}

function endTurn(chat: Chat, turn: ChatTurn, read: ReadOptions): void {
  chat.turn = undefined;
  chat.error = turn.error;
  const isWaiting = lastMessage(chat)?.toolCalls?.some(isPending);
  // a separate microtask, so that a callback can send the next message; a platform may have no queueMicrotask
  if (!isWaiting) void Promise.resolve().then(() => isolate(() => callBack(turn, read)));
  chat.store.flush();
  if (goesOnAfter(turn.outcome)) sendNext(chat);
}

/** True where the queue goes on: the gateway ended the response. After any other end it waits for the user. */
export function goesOnAfter(outcome = ""): boolean {
  return ["complete", "length", "content-filter"].includes(outcome);
}

function callBack(turn: ChatTurn, read: ReadOptions): void {
  const { onError, onFinish } = read();
  const { error } = turn;
  if (error) isolate(() => onError?.(error, turn));
  onFinish?.(turn);
}

function enqueue({ queue, storage, store }: Chat, message: QueuedMessage, read: ReadOptions) {
  const { id, turn } = queue.add(message, read);
  // other tabs show the message, and leave it to this one
  storage.keeper?.hold(QUEUED + id, turn);
  store.flush();
  return turn;
}

function sendNext(chat: Chat): void {
  const [next] = chat.turn ? [] : chat.queue.sendable(false);
  if (next) void sendQueued(chat, next);
}

/** Sends a queued message, unless another device does. */
export function sendQueued(chat: Chat, entry: QueueEntry<ReadOptions>): Promise<ChatTurn> {
  const { queue, storage } = chat;
  const taken = storage.keeper?.isTaken(QUEUED + entry.id, new AbortController().signal);
  return taken
    ? taken.then((isTaken) =>
        isTaken || chat.turn || !queue.sendable(true).includes(entry)
          ? notSent(elsewhere())
          : sendNow(chat, entry),
      )
    : sendNow(chat, entry);
}

/** Sends a queued message. A turn that has not begun stops none behind it. */
function sendNow(chat: Chat, entry: QueueEntry<ReadOptions>): Promise<ChatTurn> {
  const { queue, store, own } = chat;
  const { options: read = own } = entry;
  entry.phase = "starting";
  const turn = beginTurn(chat, questionOf(chat, read, entry), read);
  entry.settle(turn);
  void turn.then(({ outcome, messages }) => {
    queue.tried(entry);
    store.flush();
    if (outcome === "not-sent" && messages.length === 0) sendNext(chat);
  });
  return turn;
}

/** Makes the beginning of a turn: adds a message of the user below the shown ones, or another version of one. */
export function questionOf(
  chat: Chat,
  read: ReadOptions,
  { id, content, images, versionOf }: QueuedMessage & { readonly id?: string },
): FindPlace {
  return (signal) => {
    const question = { id, content, model: read().model };
    return versionOf === undefined
      ? addQuestion(chat.thread, { ...question, images: images ?? [], below: lastMessage(chat)?.id }, signal)
      : addVersion(chat.thread, versionOf, { ...question, images }, signal);
  };
}
