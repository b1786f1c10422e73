import { ConfigurationError, isGatewayError } from "@sluice/core";
import { getDelivery, openSpan, toError } from "@sluice/core/extend";
import type { ChatMessage, ChatTurn } from "@sluice/stores";
import {
  addQuestion,
  addVersion,
  BUSY,
  type Chat,
  createUnsentTurn,
  findResponsesAround,
  isServerWorking,
} from "@sluice/stores/extend";
import {
  addAbortListener,
  getLastMessage,
  getStopSignal,
  type InsertionPoint,
  type QueuedMessage,
  type ReadOptions,
} from "../base.js";
import { claim, isUnknown, sendTurn, stopTurn } from "./server-requests.js";
import { answerFor, endOf } from "./turn-answers.js";
import { noteTurn, turnIdBelow } from "./turn-ids.js";

// loaded with the first turn of a chat that runs on the server

/** Answer of the user or the page to a call. */
type Reaction = { readonly approved: true } | { readonly denied: string } | { readonly output: unknown };

/** Longest wait for the records of a turn that has ended, in milliseconds. */
const NEWS_MS = 30_000;

const isRefused = (error: unknown) => isGatewayError(error) && getDelivery(error) === "refused";

/** Makes the verbs of a chat whose turns run on the server. */
export function serverTurns(chat: Chat, read: ReadOptions) {
  const { thread, store } = chat;
  return { send, again, react, stop: () => stopTurn(chat) };

  /** Adds a question, and hands it over. One that the server refuses is taken back. */
  function send(question: QueuedMessage): Promise<ChatTurn> {
    return whenFree((signal) => ask(question, signal));
  }

  async function ask({ content, images, versionOf }: QueuedMessage, signal: AbortSignal): Promise<ChatTurn> {
    const { model } = read();
    // a branch that another device adds meanwhile does not replace this one
    thread.choose(getLastMessage(chat)?.id);
    let place: InsertionPoint;
    try {
      place = await (versionOf === undefined
        ? addQuestion(
            thread,
            { content, images: images ?? [], below: getLastMessage(chat)?.id, model },
            signal,
          )
        : addVersion(thread, versionOf, { content, images, model }, signal));
    } catch (cause) {
      return createUnsentTurn(toError(cause));
    }
    const id = place.below as string;
    const { message } = thread.get(id) as { readonly message: ChatMessage };
    const asked = { message: { ...message, branches: undefined }, parent: thread.getParent(id) ?? null };
    const turn = await handOver({ id, ...asked }, id, signal);
    const isBack = turn.error === signal.reason || isRefused(turn.error);
    if (turn.outcome === "not-sent" && isBack && !turn.messages.length) thread.remove(id);
    store.flush();
    return turn;
  }

  /** Requests an answer below a message that is there. */
  async function again(below: string | undefined): Promise<ChatTurn> {
    const last = getLastMessage(chat);
    const isRetry = last?.id === below;
    if (below === undefined || !last || (isRetry && last.outcome === "complete"))
      return createUnsentTurn(nothing());
    const known = findResponsesAround(thread, last).length;
    return await whenFree((signal) => {
      // what it waited for may be the answer
      const isWhole = thread.get(below)?.message.outcome === "complete";
      const isAnswered = isWhole || findResponsesAround(thread, last).length > known;
      return isRetry && isAnswered ? createUnsentTurn(nothing()) : askBelow(below, signal);
    });
  }

  function askBelow(below: string, signal: AbortSignal): Promise<ChatTurn> {
    const message = thread.get(below)?.message;
    const isQuestion = message?.role === "user";
    // a question that never arrived goes along
    const asked = isQuestion
      ? {
          message: { ...message, branches: undefined, error: undefined },
          parent: thread.getParent(below) ?? null,
        }
      : { parent: below };
    return handOver({ id: turnIdBelow(thread, below), ...asked }, below, signal);
  }

  /** Begins a turn as soon as the chat is free. It counts as busy in the same moment: a second click finds it so. */
  async function whenFree(begin: (signal: AbortSignal) => ChatTurn | Promise<ChatTurn>): Promise<ChatTurn> {
    const signal = getStopSignal(chat);
    if (!enter()) {
      const { whenBusy = "reject" } = read();
      if (whenBusy === "reject") return createUnsentTurn(new ConfigurationError(BUSY));
      if (whenBusy === "replace") await stopTurn(chat);
      const refused = await until(chat, () => enter() || undefined, signal).then(
        () => undefined,
        createUnsentTurn,
      );
      if (refused) return refused;
    }
    try {
      return await begin(signal);
    } finally {
      chat.handedOver = (chat.handedOver ?? 1) - 1;
      store.flush();
    }
  }

  function enter(): boolean {
    if (isServerWorking(chat)) return false;
    chat.handedOver = (chat.handedOver ?? 0) + 1;
    return true;
  }

  async function handOver(
    body: { readonly id: string },
    below: string,
    signal: AbortSignal,
  ): Promise<ChatTurn> {
    const asked = { below, before: getLastMessage(chat), questionBefore: thread.get(below)?.message };
    // a repeated answer comes beside the one that is repeated
    thread.choose(asked.questionBefore?.role === "user" ? below : thread.getParent(below));
    const answer = answerFor(thread, below, show);
    let hasArrived = false;
    chat.error = undefined;
    store.flush();
    try {
      signal.throwIfAborted();
      const isOver = await sendTurn(chat, body);
      hasArrived = true;
      noteTurn(thread, body.id);
      // the stop may have been there before the turn
      if (signal.aborted) await stopTurn(chat);
      const end = () => endOf(thread, { ...asked, answer: answer() });
      const turn = await (isOver ? soon(chat, end) : until(chat, end));
      chat.error = turn.error;
      return turn;
    } catch (cause) {
      const error = toError(cause);
      chat.error = isAbort(error) ? undefined : error;
      return failed(error, below, hasArrived);
    }
  }

  function show(id: string): void {
    if (!thread.path.some((message) => message.id === id)) thread.choose(id);
    store.flush();
  }

  /** Makes the turn of a verb that failed. The server may have begun what no answer came to. */
  function failed(error: Error, below?: string, hasArrived = false): ChatTurn {
    if (!hasArrived && !isUnknown(error)) return createUnsentTurn(error);
    const { message } = thread.get(below) ?? {};
    const outcome = isAbort(error) ? "truncated" : "error";
    return { messages: message?.role === "user" ? [message] : [], outcome, error };
  }

  /** Answers a call that waits. The first answer of all devices counts. */
  async function react(toolCallId: string, reaction: Reaction): Promise<ChatTurn> {
    const message = getLastMessage(chat);
    const call = message?.toolCalls?.find(({ id }) => id === toolCallId);
    const state = "output" in reaction ? "needs-output" : "needs-approval";
    if (!message || call?.state !== state)
      return createUnsentTurn(new ConfigurationError(`toolCallId: no call "${toolCallId}" waits for this`));
    let hasArrived = false;
    try {
      await claim(chat, `/reaction/${message.id}/${toolCallId}`, reaction);
      hasArrived = true;
      const asked = { below: message.id, before: message, questionBefore: message };
      return await until(chat, () => endOf(thread, asked));
    } catch (cause) {
      return failed(toError(cause), undefined, hasArrived);
    }
  }
}

/** True for the end of a wait by the user, or with the chat. */
function isAbort({ name }: Error): boolean {
  return name === "AbortError";
}

function nothing(): ConfigurationError {
  return new ConfigurationError("there is nothing to retry: regenerate() asks for another answer");
}

/** Waits for the records of a turn that has ended. They are on their way, unless they were removed since. */
function soon<T>(chat: Chat, find: () => T | undefined): Promise<T> {
  const late = () => new DOMException("this was answered before, and the answer was removed", "TimeoutError");
  const { signal, end } = openSpan(chat.client.clock, undefined, NEWS_MS, late);
  return until(chat, find, signal).finally(end);
}

/** Resolves with what `find` gives after a change of the chat. Rejects when it is closed, and with the reason of the signal. */
function until<T>(chat: Chat, find: () => T | undefined, signal?: AbortSignal): Promise<T> {
  const found = find();
  if (found !== undefined) return Promise.resolve(found);
  if (signal?.aborted) return Promise.reject(signal.reason);
  chat.closing ??= new AbortController();
  const ends = [signal, chat.closing.signal];
  return new Promise((resolve, reject) => {
    const end = () => {
      unsubscribe();
      for (const ignore of ignores) ignore();
    };
    const unsubscribe = chat.store.subscribe(() => {
      const found = find();
      if (found === undefined) return;
      end();
      resolve(found);
    });
    const ignores = ends.map((over) =>
      addAbortListener(over, () => {
        end();
        reject(over?.reason);
      }),
    );
  });
}
