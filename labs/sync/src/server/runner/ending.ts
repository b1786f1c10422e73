import { report } from "@sluice/durable/internal";
import { LOST_ANSWER, type TurnEnd } from "./end.js";
import type { RunnerSetup } from "./options.js";
import type { Changes, RunPlace } from "./place.js";
import {
  change,
  changedRecord,
  claimKey,
  closedCalls,
  isInFlight,
  isReadOn,
  type KeptMessage,
  messageIn,
  reactionKey,
} from "./records.js";
import type { OpenTurn, TurnRows } from "./rows.js";

export const STALLED = {
  name: "TimeoutError",
  message: "the server has stopped this turn: it came to nothing new for too long; it may be billed",
  code: "run_stalled",
  billing: "maybe",
};
const LOST = {
  name: "StreamError",
  message: "the server was restarted again and again while it worked on this; it may be billed",
  reason: "interrupted",
  code: "run_lost",
  billing: "maybe",
};

/** The error of a message below which nothing was asked any more. */
const STOPPED = { name: "AbortError", message: "the turn was stopped", billing: "none" };
const UNFINISHED = "the turn ended before the call had a result";
/** Code of a turn whose last message a device has changed. */
export const ELSEWHERE = "continued_elsewhere";

/**
 * Opens the ways in which a turn ends: its last records, its row and its event are of one transaction.
 *
 * @param onEnded called in that transaction
 */
export function openEnding<Env>(
  place: RunPlace<Env>,
  setup: RunnerSetup<Env>,
  rows: TurnRows,
  onEnded: (turn: OpenTurn, end: TurnEnd) => void,
) {
  return { finish, finishAs, finishLost, finishDropped };

  /** @param isFollowed true where the next question is about to follow */
  function finish(turn: OpenTurn, { error, ...end }: TurnEnd, isFollowed = false): void {
    const { tip } = turn;
    const last = isFollowed ? undefined : messageIn(place.read(tip));
    const fields = last && closingFields(turn, last.message, { error, ...end });
    if (last && fields) place.write(change(tip, changedRecord(last, fields)));
    place.write(leftovers(turn));
    rows.end(turn.id);
    onEnded(turn, end);
    reportEnd(turn, end);
    const { outcome, code } = end;
    const { id, user } = turn;
    const told = { id, conversation: place.conversation, userId: user.id, messageId: tip, outcome, code };
    const notified = new Promise((resolve) => resolve(setup.onEnd?.(told, place.env)));
    place.state.waitUntil(notified.catch(() => {}));
  }

  /** Ends a turn on which nothing works: its open calls get a reason. */
  function finishAs(
    turn: OpenTurn,
    reason: string,
    end: TurnEnd = { outcome: "stopped" },
    isFollowed = false,
  ): void {
    const last = messageIn(place.read(turn.tip));
    if (last) place.write(change(turn.tip, changedRecord(last, closedCalls(last.message, reason))));
    finish(turn, end, isFollowed);
  }

  function finishLost(turn: OpenTurn): void {
    finishAs(turn, LOST.message, { outcome: "lost", code: LOST.code, error: LOST });
  }

  /** Ends a turn whose records are about to be deleted. */
  function finishDropped(turn: OpenTurn): void {
    rows.end(turn.id);
    reportEnd(turn, { outcome: "stopped", code: "conversation_removed" });
  }

  function reportEnd(turn: OpenTurn, end: Omit<TurnEnd, "error">): void {
    const { id, user, requestId, startedAt } = turn;
    const job = { id, user: user.id, userName: "", requestId, model: setup.model, startedAt };
    report(setup.onEvent, "sync:run", job, end, place.env);
  }

  /** Removes the reactions and claims of a turn that is over. */
  function leftovers({ tip, claims }: OpenTurn): Changes {
    const calls = messageIn(place.read(tip))?.message.toolCalls ?? [];
    const keys = calls.flatMap(({ id }) => [reactionKey(tip, id), claimKey(tip, id)]);
    const all = new Set([...keys, ...Object.keys(claims)]);
    return new Map([...all].filter((key) => place.read(key) !== undefined).map((key) => [key, undefined]));
  }
}

/**
 * Makes what the last message of a turn gets when the turn is over; undefined for nothing. Devices know from it alone
 * that nothing follows: an answer has an end, and a question or a call without one has an error.
 */
function closingFields(
  { tip, below }: OpenTurn,
  message: KeptMessage,
  { outcome, code, error }: TurnEnd,
): Partial<KeptMessage> | undefined {
  const { role, toolCalls = [] } = message;
  if (role !== "assistant") return { error: error ?? STOPPED };
  // a device goes on with the results of its calls
  const isLeft = code === ELSEWHERE && !toolCalls.some(({ state }) => state === "cancelled");
  const calls = isLeft ? {} : closedCalls(message, UNFINISHED);
  if (error) return { ...calls, outcome: "truncated", error };
  // nobody reads on what was stopped, nor what a lost process had left to be read on
  const isLeftBehind = isReadOn(message) && tip !== below;
  if ((isInFlight(message) || isLeftBehind) && outcome === "stopped")
    return { ...calls, outcome, error: undefined, streamId: undefined, idempotencyKey: undefined };
  if (isInFlight(message) || isLeftBehind) return { ...calls, outcome: "truncated", error: LOST_ANSWER };
  if (message.outcome === "tool-calls" && !message.error && !isLeft)
    return code === "step_limit" ? { outcome: "step-limit" } : { ...calls, error: STOPPED };
  // a trace of a turn without an answer: devices learn that it is over, and what they ask for next is another one
  return tip === below ? {} : undefined;
}
