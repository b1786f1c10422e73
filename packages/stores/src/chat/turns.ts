import { ConfigurationError } from "@sluice/core";
import { createRandomId, isolate, toError } from "@sluice/core/extend";
import { type Chat, type ReadOptions, type RunnerTurnStart, setQueue } from "./chat.js";
import { addQuestion, type FindInsertionPoint, type Question } from "./insertion-point.js";
import { type ChatMessage, type ChatTurn, createUnsentTurn, isPending } from "./message.js";
import type { RunnerTurns } from "./runner.js";
import { startTurn } from "./turn.js";

/** Error text of a turn that is not sent because another one is in flight. */
export const BUSY =
  'a response is in flight: wait for it, stop() it, or set `whenBusy` to "queue" or "replace"';

/**
 * Starts a turn if none is in flight. Otherwise does what `whenBusy` says. Only new messages are queued, because the
 * original of an edited message may be removed before its turn.
 *
 * @throws an error if nothing can be sent; the chat does not change
 */
export function startIfFree(
  chat: Chat,
  read: ReadOptions,
  find: FindInsertionPoint,
  message?: Question,
): Promise<ChatTurn> {
  const { whenBusy = "reject" } = read();
  if (chat.turn && whenBusy === "queue" && message) {
    return new Promise((resolve) => {
      setQueue(chat, [...chat.queue, { ...message, id: createRandomId(), options: read, resolve }]);
      chat.store.flush();
    });
  }
  if (whenBusy === "replace") chat.turn?.stop();
  if (chat.turn) throw new ConfigurationError(BUSY);
  return beginTurn(chat, find, read);
}

/**
 * Begins a turn below the shown messages.
 *
 * @param interrupted response that a closed tab has left unfinished
 * @throws the error of `find`
 */
export function beginTurn(
  chat: Chat,
  find: FindInsertionPoint,
  read: ReadOptions,
  interrupted?: ChatMessage,
): Promise<ChatTurn> {
  const owner = new AbortController();
  // keeps this branch shown if another tab adds one
  chat.thread.choose(chat.thread.path.at(-1)?.id);
  const point = find(owner.signal);
  if (chat.runner) return beginRunnerTurn(chat, chat.runner, read, { at: point });
  const onEnd = (end: ChatTurn) => endTurn(chat, end, read);
  return startTurn(chat, { options: read, owner, interrupted, onEnd }, point);
}

/** Begins a turn of the chat's runner. */
export function beginRunnerTurn(
  chat: Chat,
  runner: RunnerTurns,
  read: ReadOptions,
  start: Omit<RunnerTurnStart, "onEnd">,
): Promise<ChatTurn> {
  const turn = runner.start(read, { ...start, onEnd: (end) => endTurn(chat, end, read) });
  Object.assign(chat, { turn, error: undefined, options: read });
  chat.store.flush();
  return turn.result;
}

function endTurn(chat: Chat, turn: ChatTurn, read: ReadOptions): void {
  chat.turn = undefined;
  chat.error = turn.error;
  const isWaiting = chat.thread.path.at(-1)?.toolCalls?.some(isPending);
  // a separate microtask lets a callback send the next message; some platforms have no queueMicrotask
  if (!isWaiting) void Promise.resolve().then(() => isolate(() => callBack(turn, read)));
  chat.store.flush();
  if (canSendNext(turn.outcome)) void sendNext(chat);
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

/** Sends the oldest queued message, if no turn is in flight. If its turn fails to begin, the next message is sent. */
export function sendNext(chat: Chat): Promise<ChatTurn> | undefined {
  const [next, ...rest] = chat.turn ? [] : chat.queue;
  if (!next) return undefined;
  setQueue(chat, rest);
  const find: FindInsertionPoint = (signal) => addQuestion(chat.thread, next, next.options().model, signal);
  const turn = attempt(() => beginTurn(chat, find, next.options));
  next.resolve(turn);
  void turn.then(({ outcome, messages }) => {
    chat.store.flush();
    if (outcome === "not-sent" && messages.length === 0) void sendNext(chat);
  });
  return turn;
}

/** Runs `start`. If it throws, nothing is sent and the chat does not change. */
export function attempt(start: () => Promise<ChatTurn>): Promise<ChatTurn> {
  try {
    return start();
  } catch (cause) {
    return Promise.resolve(createUnsentTurn(toError(cause)));
  }
}
