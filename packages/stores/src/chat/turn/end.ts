import { asError } from "@sluice/core/internal";
import { isOpen, isPending, type ThreadMessage, type ThreadTurn, withCallsClosed } from "../message.js";
import { afterAnswers } from "../turn-error.js";
import { hasEnded, messagesOf, type Run } from "./state.js";

/** Ends a turn at once. The text so far stays. */
export function stopTurn(turn: Run): void {
  const { thread, phase, added } = turn;
  if (phase.name === "answering") thread.put(phase.answer.stop());
  const last = thread.node(added.at(-1))?.message;
  if (last) thread.put(withCallsClosed(last, "the user stopped the answer before the call had a result"));
  endTurn(turn, { outcome: "stopped" });
}

/** Ends a turn whose next request was not sent. The last answer keeps the error, for a reload and other tabs. */
export function failTurn(turn: Run, cause: unknown): void {
  if (hasEnded(turn)) return;
  const { thread, left } = turn;
  // in the tick in which the turn ends: a merge would take a missing draft for a chat that another tab has cleared
  const draft = messagesOf(turn).at(-1);
  if (draft?.role === "assistant" && !draft.outcome && draft.id !== left?.id) thread.remove(draft.id);
  const last = messagesOf(turn).at(-1);
  if (last?.role !== "assistant") return endTurn(turn, { outcome: "not-sent", error: asError(cause) });
  const error = afterAnswers(asError(cause));
  const message = withCallsClosed(
    last,
    "the chat could not continue",
    (call) => isOpen(call) && !isPending(call),
  );
  thread.put({ ...message, outcome: last.outcome ?? "interrupted", error });
  endTurn(turn, { outcome: "interrupted", error });
}

/** Ends a turn, by default as its last answer ended. A second call changes nothing. */
export function endTurn(turn: Run, end: Partial<Pick<ThreadTurn, "outcome" | "error">> = {}): void {
  if (hasEnded(turn)) return;
  turn.owner.abort(new DOMException("The answer was stopped", "AbortError"));
  const messages = messagesOf(turn);
  const error = end.error ?? errorOf(messages);
  const ended: ThreadTurn = {
    messages,
    outcome: end.outcome ?? messages.at(-1)?.outcome ?? "not-sent",
    ...(error && { error }),
  };
  try {
    turn.onEnd(ended);
  } finally {
    turn.resolve(ended);
  }
}

/** Error of the last of a turn's messages, as the error of the turn. */
function errorOf(messages: readonly ThreadMessage[]): Error | undefined {
  const error = messages.at(-1)?.error;
  return error && messages.at(-2)?.role === "assistant" ? afterAnswers(error) : error;
}
