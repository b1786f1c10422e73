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
export function requestTurn(
  chat: Chat,
  readOptions: ReadOptions,
  beginning: TurnBeginning,
): Promise<ChatTurn> {
  const requested = openStorage(chat).whenReady(() =>
    tryStart(() => startIfFree(chat, readOptions, beginning)),
  );
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
function startIfFree(chat: Chat, readOptions: ReadOptions, beginning: TurnBeginning): Promise<ChatTurn> {
  const { whenBusy = "reject" } = readOptions();
  const message = typeof beginning === "function" ? undefined : beginning;
  // checked before the message is queued or stops a response. An edited message may have the images of its original
  if (message && message.originalId === undefined) assertContent(message.content, message.images ?? []);
  if (chat.turn && whenBusy === "queue" && message) {
    return new Promise((resolve) => {
      setQueue(chat, [...chat.queue, { ...message, id: createRandomId(), readOptions, resolve }]);
      chat.store.flush();
    });
  }
  if (whenBusy === "replace") chat.turn?.stop();
  if (chat.turn) throw new ConfigurationError(BUSY);
  return beginTurn(chat, beginning, readOptions);
}

/**
 * Begins a turn below the shown messages.
 *
 * @throws the error of an invalid beginning
 */
export function beginTurn(chat: Chat, beginning: TurnBeginning, readOptions: ReadOptions): Promise<ChatTurn> {
  const { thread, runner } = chat;
  // keeps this branch shown if another tab adds one
  thread.choose(thread.path.at(-1)?.id);
  const find: FindInsertionPoint =
    typeof beginning === "function"
      ? beginning
      : (signal) => addQuestion(thread, beginning, readOptions().model, signal);
  if (runner)
    return beginRunnerTurn(chat, runner, readOptions, { point: find(new AbortController().signal) });
  return startTurn(chat, { readOptions, onEnd: (end) => endTurn(chat, end, readOptions) }, find);
}

/** Begins a turn of the chat's runner. */
export function beginRunnerTurn(
  chat: Chat,
  runner: RunnerTurns,
  readOptions: ReadOptions,
  start: Omit<RunnerTurnStart, "onEnd">,
): Promise<ChatTurn> {
  const turn = runner.start(readOptions, { ...start, onEnd: (end) => endTurn(chat, end, readOptions) });
  Object.assign(chat, { turn, error: undefined, readTurnOptions: readOptions });
  chat.store.flush();
  return turn.result;
}

function endTurn(chat: Chat, turn: ChatTurn, readOptions: ReadOptions): void {
  chat.turn = undefined;
  chat.error = turn.error;
  const isWaiting = chat.thread.path.at(-1)?.toolCalls?.some(isPending);
  // a separate microtask lets a callback send the next message; some platforms have no queueMicrotask
  if (!isWaiting) void Promise.resolve().then(() => isolate(() => callBack(turn, readOptions)));
  chat.store.flush();
  if (canSendNext(turn.outcome)) void sendNext(chat);
}

/** Returns true if the gateway ended the response, so that the queue continues. After any other end the user decides. */
function canSendNext(outcome = ""): boolean {
  return ["complete", "length", "content-filter"].includes(outcome);
}

function callBack(turn: ChatTurn, readOptions: ReadOptions): void {
  const { onError, onFinish } = readOptions();
  const { error } = turn;
  if (error) isolate(() => onError?.(error, turn));
  onFinish?.(turn);
}

/** Sends the oldest queued message, if no turn is in flight. If its turn fails to begin, the next message is sent. */
function sendNext(chat: Chat): Promise<ChatTurn> | undefined {
  const [next, ...rest] = chat.turn ? [] : chat.queue;
  if (!next) return undefined;
  setQueue(chat, rest);
  const turn = tryStart(() => beginTurn(chat, next, next.readOptions));
  next.resolve(turn);
  void turn.then(({ outcome, messages }) => {
    chat.store.flush();
    if (outcome === "not-sent" && messages.length === 0) void sendNext(chat);
  });
  return turn;
}

/** Runs `start`. If it throws, nothing is sent and the chat does not change. */
function tryStart(start: () => Promise<ChatTurn>): Promise<ChatTurn> {
  try {
    return start();
  } catch (cause) {
    return Promise.resolve(createUnsentTurn(toError(cause)));
  }
}

/** Repeats the last request, unless another tab does so first. If none failed, sends the first queued message. */
export function retry(chat: Chat, readOptions: ReadOptions): Promise<ChatTurn> {
  const { thread, storage } = chat;
  const last = thread.path.at(-1);
  const queued = hasFailed(last) ? undefined : sendNext(chat);
  if (queued) return queued;
  const find = () => findRetryPoint(thread, last && thread.get(last.id)?.message);
  const start = () => tryStart(() => startIfFree(chat, readOptions, find));
  if (!last || chat.turn) return start();
  const responseCount = findResponsesAround(thread, last).length;
  return storage.runLocked(last.id, () =>
    findResponsesAround(thread, last).length > responseCount
      ? createUnsentTurn(new ConfigurationError("another tab continued the chat"))
      : start(),
  );
}

/** Returns true if the response to a message failed, was stopped or is missing. The queue then waits for the user. */
function hasFailed(last: ChatMessage | undefined): boolean {
  return last !== undefined && last.role !== "system" && !canSendNext(last.outcome);
}
