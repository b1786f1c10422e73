import { report } from "../../objects/job.js";
import type { TurnEnd } from "./end.js";
import type { RunnerSetup } from "./options.js";
import type { Changes, RunPlace } from "./place.js";
import {
  change,
  changedRecord,
  claimKey,
  closedCalls,
  isInFlight,
  type KeptMessage,
  messageIn,
  reactionKey,
} from "./records.js";
import type { OpenTurn, TurnRows } from "./rows.js";

export const STALLED = {
  name: "TimeoutError",
  message: "the server has stopped this turn: it came to nothing new for too long; it may be billed",
  code: "run_stalled",
  outcome: "unknown",
};
const UNSENT = {
  name: "AbortError",
  message: "the turn was stopped before anything was sent",
  outcome: "not-sent",
};
const LOST = {
  name: "StreamError",
  message: "the server was restarted again and again while it worked on this; it may be billed",
  code: "run_lost",
  outcome: "unknown",
};

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

  function finish(turn: OpenTurn, { error, ...end }: TurnEnd): void {
    const { tip } = turn;
    const last = messageIn(place.read(tip));
    if (last && (error || isInFlight(last.message)))
      place.write(change(tip, changedRecord(last, { ...outcomeFor(last.message), ...(error && { error }) })));
    // each turn leaves a trace: devices learn that it is over, and what they ask for next is another one
    else if (last && tip === turn.below && end.code === undefined)
      place.write(change(tip, changedRecord(last, last.message.role === "user" ? { error: UNSENT } : {})));
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
  function finishAs(turn: OpenTurn, reason: string, end: TurnEnd = { outcome: "stopped" }): void {
    const last = messageIn(place.read(turn.tip));
    const outcome = last && isInFlight(last.message) ? { outcome: "stopped" } : {};
    if (last)
      place.write(
        change(turn.tip, changedRecord(last, { ...closedCalls(last.message, reason), ...outcome })),
      );
    finish(turn, end);
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
    const { id, user, payer, requestId, startedAt, made } = turn;
    const model = made?.model ?? setup.model;
    const job = { id, user: user.id, userName: "", requestId, model, startedAt };
    report(setup.onEvent, "run", job, { ...end, payer: payer?.id }, place.env);
  }

  /** Removes the reactions and claims of a turn that is over. */
  function leftovers({ tip, claims }: OpenTurn): Changes {
    const calls = messageIn(place.read(tip))?.message.toolCalls ?? [];
    const keys = calls.flatMap(({ id }) => [reactionKey(tip, id), claimKey(tip, id)]);
    const all = new Set([...keys, ...Object.keys(claims)]);
    return new Map([...all].filter((key) => place.read(key) !== undefined).map((key) => [key, undefined]));
  }
}

/** An answer that is given up has an outcome; a question has none. */
function outcomeFor({ role }: KeptMessage): Partial<KeptMessage> {
  return role === "assistant" ? { outcome: "interrupted" } : {};
}
