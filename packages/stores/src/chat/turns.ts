import { ConfigurationError } from "@sluice/core";
import { createRandomId, isolate, noteMistake, toError } from "@sluice/core/extend";
import { type Chat, openStorage, type ReadOptions, type RunnerTurnStart, setQueue } from "./chat.js";
import {
  addQuestion,
  assertContent,
  type FindInsertionPoint,
  findResponsesAround,
  findRetryPoint,
  type Question,
} from "./insertion-point.js";
import { type ChatMessage, type ChatTurn, createUnsentTurn, isPending } from "./message.js";
import type { RunnerTurns } from "./runner.js";
import { startTurn } from "./turn.js";

/** Error text of a turn that is not sent because another one is in flight. */
const BUSY = 'a response is in flight: wait for it, stop() it, or set `whenBusy` to "queue" or "replace"';

/** What begins a turn: a message of the user, or the point of the thread at which it begins. */
type TurnBeginning = Question | FindInsertionPoint;

/** Starts a turn when the chat is restored, as documented at `send`, `edit` and `regenerate` of the store. */
export function requestTurn(chat: Chat, read: ReadOptions, beginning: TurnBeginning): Promise<ChatTurn> {
  const requested = openStorage(chat).whenReady(() => attempt(() => startIfFree(chat, read, beginning)));
  // no state shows the error of a call that changed nothing. A double click is not a mistake
  requested.then(
    ({ error }) => error?.message !== BUSY && noteMistake(error, chat.client),
    () => {},
  );
  return requested;
}

/**
 * Starts a turn if none is in flight. Otherwise does what `whenBusy` says. Only messages are queued, because the
 * response of a `regenerate` may be removed before its turn.
 *
 * @throws an error if nothing can be sent; the chat does not change
 */
function startIfFree(chat: Chat, read: ReadOptions, beginning: TurnBeginning): Promise<ChatTurn> {
  const { whenBusy = "reject" } = read();
  const message = typeof beginning === "function" ? undefined : beginning;
  // before it is queued, and before it stops a response. An edited message may have the images of its original
  if (message && message.originalId === undefined) assertContent(message.content, message.images ?? []);
  if (chat.turn && whenBusy === "queue" && message) {
    return new Promise((resolve) => {
      setQueue(chat, [...chat.queue, { ...message, id: createRandomId(), options: read, resolve }]);
      chat.store.flush();
    });
  }
  if (whenBusy === "replace") chat.turn?.stop();
  if (chat.turn) throw new ConfigurationError(BUSY);
  return beginTurn(chat, beginning, read);
}

/**
 * Begins a turn below the shown messages.
 *
 * @throws the error of an invalid beginning
 */
export function beginTurn(chat: Chat, beginning: TurnBeginning, read: ReadOptions): Promise<ChatTurn> {
  const { thread, runner } = chat;
  // keeps this branch shown if another tab adds one
  thread.choose(thread.path.at(-1)?.id);
  const find: FindInsertionPoint =
    typeof beginning === "function"
      ? beginning
      : (signal) => addQuestion(thread, beginning, read().model, signal);
  if (runner) return beginRunnerTurn(chat, runner, read, { at: find(new AbortController().signal) });
  return startTurn(chat, { options: read, onEnd: (end) => endTurn(chat, end, read) }, find);
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
function canSendNext(outcome = ""): boolean {
  return ["complete", "length", "content-filter"].includes(outcome);
}

function callBack(turn: ChatTurn, read: ReadOptions): void {
  const { onError, onFinish } = read();
  const { error } = turn;
  if (error) isolate(() => onError?.(error, turn));
  onFinish?.(turn);
}

/** Sends the oldest queued message, if no turn is in flight. If its turn fails to begin, the next message is sent. */
function sendNext(chat: Chat): Promise<ChatTurn> | undefined {
  const [next, ...rest] = chat.turn ? [] : chat.queue;
  if (!next) return undefined;
  setQueue(chat, rest);
  const turn = attempt(() => beginTurn(chat, next, next.options));
  next.resolve(turn);
  void turn.then(({ outcome, messages }) => {
    chat.store.flush();
    if (outcome === "not-sent" && messages.length === 0) void sendNext(chat);
  });
  return turn;
}

/** Runs `start`. If it throws, nothing is sent and the chat does not change. */
function attempt(start: () => Promise<ChatTurn>): Promise<ChatTurn> {
  try {
    return start();
  } catch (cause) {
    return Promise.resolve(createUnsentTurn(toError(cause)));
  }
}

/** Repeats the last request, unless another tab does so first. If none failed, sends the first queued message. */
export function retry(chat: Chat, read: ReadOptions): Promise<ChatTurn> {
  const { thread, storage } = chat;
  const last = thread.path.at(-1);
  const queued = hasFailed(last) ? undefined : sendNext(chat);
  if (queued) return queued;
  const find = () => findRetryPoint(thread, last && thread.get(last.id)?.message);
  const start = () => attempt(() => startIfFree(chat, read, find));
  if (!last || chat.turn) return start();
  const known = findResponsesAround(thread, last).length;
  return storage.runLocked(last.id, () =>
    findResponsesAround(thread, last).length > known
      ? createUnsentTurn(new ConfigurationError("another tab continued the chat"))
      : start(),
  );
}

/** Returns true if the response to a message failed, was stopped or is missing. The queue then waits for the user. */
function hasFailed(last: ChatMessage | undefined): boolean {
  return last !== undefined && last.role !== "system" && !canSendNext(last.outcome);
}
