import { ConfigurationError } from "@sluice/core";
import { isolate } from "@sluice/core/extend";
import { type Chat, getLastMessage, type ReadOptions, refresh } from "./chat.js";
import { addQuestion, addVersion, type FindInsertionPoint } from "./insertion-point.js";
import { type ChatMessage, type ChatTurn, isPending, QUEUED } from "./message.js";
import type { QueuedMessage, QueueEntry } from "./queue.js";
import { createTurn, startTurn, stopTurn } from "./turn.js";
import { continueIfValid, createElsewhereError, createUnsentTurn } from "./turn-ends.js";

/**
 * Error text of a turn that is not sent because another one is in flight.
 *
 * @example
 * ```ts
 * const refuse = () => createUnsentTurn(new ConfigurationError(BUSY));
 * ```
 */
export const BUSY =
  'a response is in flight: wait for it, stop() it, or set `whenBusy` to "queue" or "replace"';

/**
 * Starts a turn if none is in flight. Otherwise does what `whenBusy` says. Only new messages are queued, because the
 * original of an edited message may be removed before its turn.
 */
export function startIfFree(
  chat: Chat,
  read: ReadOptions,
  find: FindInsertionPoint,
  message?: QueuedMessage,
): Promise<ChatTurn> {
  return continueIfValid(read, async ({ whenBusy = "reject" }) => {
    if (chat.turn && whenBusy === "queue" && message) return enqueue(chat, message, read);
    if (chat.turn && whenBusy === "replace") stopTurn(chat.turn);
    return chat.turn ? createUnsentTurn(new ConfigurationError(BUSY)) : beginTurn(chat, find, read);
  });
}

/**
 * Begins a turn below the shown messages.
 *
 * @param message id of the message whose turn continues
 * @param interrupted response that a closed tab has left unfinished
 */
export function beginTurn(
  chat: Chat,
  find: FindInsertionPoint,
  read: ReadOptions,
  { interrupted, message = interrupted?.id }: { interrupted?: ChatMessage; message?: string } = {},
): Promise<ChatTurn> {
  const { client, id: chatId, thread, storage, store } = chat;
  const owner = new AbortController();
  // keeps this branch shown if another tab adds one
  thread.choose(getLastMessage(chat)?.id);
  return continueIfValid(
    () => find(owner.signal),
    (point) => {
      const turn = createTurn({
        client,
        chatId,
        thread,
        storage,
        store,
        options: read,
        refresh: () => refresh(chat),
        owner,
        interrupted,
        workedOn: message,
        onEnd: (end) => endTurn(chat, end, read),
      });
      Object.assign(chat, { turn, error: undefined, options: read });
      startTurn(turn, point);
      store.flush();
      return turn.result;
    },
  );
}

function endTurn(chat: Chat, turn: ChatTurn, read: ReadOptions): void {
  chat.turn = undefined;
  chat.error = turn.error;
  const isWaiting = getLastMessage(chat)?.toolCalls?.some(isPending);
  // a separate microtask lets a callback send the next message; some platforms have no queueMicrotask
  if (!isWaiting) void Promise.resolve().then(() => isolate(() => callBack(turn, read)));
  chat.store.flush();
  if (canSendNext(turn.outcome)) sendNext(chat);
}

/** Returns true if the gateway ended the response, so that the queue continues. After any other end the user decides. */
export function canSendNext(outcome = ""): boolean {
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
  // other tabs show the message, but do not send it while this tab holds its lock
  storage.records?.holdLock(QUEUED + id, turn);
  store.flush();
  return turn;
}

function sendNext(chat: Chat): void {
  const [next] = chat.turn ? [] : chat.queue.listSendable(false);
  if (next) void sendQueued(chat, next);
}

/** Sends a queued message, unless another device does so. */
export function sendQueued(chat: Chat, entry: QueueEntry<ReadOptions>): Promise<ChatTurn> {
  const { queue, storage } = chat;
  const takenOver = storage.records?.isTakenOver(QUEUED + entry.id, new AbortController().signal);
  return takenOver
    ? takenOver.then((isTakenOver) =>
        isTakenOver || chat.turn || !queue.listSendable(true).includes(entry)
          ? createUnsentTurn(createElsewhereError())
          : sendNow(chat, entry),
      )
    : sendNow(chat, entry);
}

/** Sends a queued message. If its turn fails to begin, the next message is sent. */
function sendNow(chat: Chat, entry: QueueEntry<ReadOptions>): Promise<ChatTurn> {
  const { queue, store, own } = chat;
  const { options: read = own } = entry;
  entry.phase = "starting";
  const turn = beginTurn(chat, createQuestion(chat, read, entry), read);
  entry.resolve(turn);
  void turn.then(({ outcome, messages }) => {
    queue.endAttempt(entry);
    store.flush();
    if (outcome === "not-sent" && messages.length === 0) sendNext(chat);
  });
  return turn;
}

/** Creates the function that adds a question to the thread: below the shown messages, or as another version. */
export function createQuestion(
  chat: Chat,
  read: ReadOptions,
  { id, content, images, versionOf }: QueuedMessage & { readonly id?: string },
): FindInsertionPoint {
  return (signal) => {
    const question = { id, content, model: read().model };
    return versionOf === undefined
      ? addQuestion(
          chat.thread,
          { ...question, images: images ?? [], below: getLastMessage(chat)?.id },
          signal,
        )
      : addVersion(chat.thread, versionOf, { ...question, images }, signal);
  };
}
