import type { ChatMessage, ChatTurn } from "@sluice/stores";
import { findResponsesAround } from "@sluice/stores/extend";
import { isBetweenSteps, isOpen, isPending, type Thread } from "../base.js";

// loaded with the first turn of a chat that runs on the server

/**
 * Makes the function that finds the answer for a message that is asked now: below it, or beside it where that is repeated.
 *
 * @param show called with it once: the user may look elsewhere after that
 */
export function answerFor(
  thread: Thread,
  below: string,
  show: (id: string) => void,
): () => string | undefined {
  const answers = () => {
    const { message } = thread.get(below) ?? {};
    return message ? findResponsesAround(thread, message).map(({ id }) => id) : [];
  };
  const known = answers();
  let found: string | undefined;
  return () => {
    // the server may take one back for an earlier one that has more
    if (found !== undefined && thread.get(found)) return found;
    found = answers().findLast((id) => !known.includes(id));
    if (found !== undefined) show(found);
    return found;
  };
}

/** A turn below a message, and what was known of it before. */
export interface AskedBelow {
  readonly below: string;
  readonly before: ChatMessage | undefined;
  readonly questionBefore: ChatMessage | undefined;
  /** Id of the answer that the turn has added; undefined before, and for one that goes on. */
  readonly answer?: string | undefined;
}

/** Reads from the thread that a turn has ended, or waits; undefined before. */
export function endOf(
  thread: Thread,
  { below, before, questionBefore, answer }: AskedBelow,
): ChatTurn | undefined {
  const question = thread.get(below)?.message;
  if (!question) return { messages: [], outcome: "stopped" };
  const found = answer === undefined ? pathFrom(thread, below) : [question, ...pathFrom(thread, answer)];
  const path = turnIn(found);
  const messages = question.role === "user" ? path : path.slice(1);
  const last = path.at(-1);
  if (question.error && question !== questionBefore && last === question)
    return endWith(messages, "not-sent", question.error);
  if (!last || last === before || last.role !== "assistant" || !last.outcome) return undefined;
  const { toolCalls = [], outcome, error } = last;
  const node = thread.get(last.id);
  if (node?.isStopped && outcome === "tool-calls") return { messages, outcome: "stopped" };
  const isWaiting = toolCalls.some(isPending) && !toolCalls.some((call) => isOpen(call) && !isPending(call));
  if (!node || !isBetweenSteps(node) || isWaiting)
    return endWith(messages, outcome === "tool-calls" && error ? "error" : outcome, error);
  // another device has gone on without the calls
  return path.length < found.length ? { messages, outcome: "stopped" } : undefined;
}

/** Leaves out the next question and what follows it: another device may have gone on. */
function turnIn(path: readonly ChatMessage[]): readonly ChatMessage[] {
  const next = path.findIndex(({ role }, at) => at > 0 && role === "user");
  return next === -1 ? path : path.slice(0, next);
}

function endWith(
  messages: readonly ChatMessage[],
  outcome: ChatTurn["outcome"],
  error: Error | undefined,
): ChatTurn {
  if (error?.name === "AbortError") return { messages, outcome: "stopped" };
  return { messages, outcome, ...(error && { error }) };
}

/** Lists a message and those below it: the shown ones, and the newest ones where the user looks elsewhere. */
function pathFrom(thread: Thread, id: string): readonly ChatMessage[] {
  const at = thread.path.findIndex((message) => message.id === id);
  if (at >= 0) return thread.path.slice(at);
  const newest = thread.listVersions(id).at(-1);
  const { message } = thread.get(id) ?? {};
  return message ? [message, ...(newest === undefined ? [] : pathFrom(thread, newest))] : [];
}
