import { report } from "../../objects/job.js";
import { askedTurn } from "./asked.js";
import type { TurnEnd } from "./end.js";
import { checkedRunner, type RunnerOptions, type RunnerSetup } from "./options.js";
import type { BegunTurn, Changes, RunCaller, Runner, RunPlace, Runs } from "./place.js";
import {
  changedRecord,
  claimKey,
  closedCalls,
  isInFlight,
  isPendingCall,
  LEAF,
  messageIn,
  reactionKey,
} from "./records.js";
import { turnRefusal } from "./refusals.js";
import { type OpenTurn, openTurnRows } from "./rows.js";
import { startWork, type Work } from "./work.js";

/** Interval of the checks of a turn, in milliseconds: an object that gets no events is evicted after a minute or two. */
const BEAT_MS = 30_000;
/** Most starts in a row that come to no new message: what ends a process each time must not be paid for ever. */
const MOST_TRIES = 3;
const STOPPED = "the user stopped before the call had a result";
const WENT_ON = "the user went on without the call";
const PAGE_LEFT = { error: "the page that ran this call was closed before it had a result" };

/**
 * Makes the part of `conversationsObject` that does turns without a page: `send` of a page hands the message over, and the
 * object asks for answers, runs tools and waits for approvals, as a chat of a page does. Tools may hold secrets of `env`.
 *
 * @throws {TypeError} for an option that is missing or can't work
 * @example
 * ```ts
 * export const Conversations = conversationsObject<Env>({
 *   namespace: (env) => env.CONVERSATIONS,
 *   runner: runner<Env>({ proxy: () => proxy, model: "delta-5.3", instructions: "You plan journeys." }),
 * });
 * ```
 */
export function runner<Env = unknown>(options: RunnerOptions<Env>): Runner<Env> {
  const setup = checkedRunner(options);
  return { open: (place) => openRuns(place, setup) };
}

function openRuns<Env>(place: RunPlace<Env>, setup: RunnerSetup<Env>): Runs {
  const rows = openTurnRows(place.state.storage.sql);
  let work: Work | undefined;
  let isStalled = false;
  return { begin, stop, changed, resume, alarm, drop };

  async function begin(body: Parameters<Runs["begin"]>[0], caller: RunCaller): Promise<BegunTurn> {
    const asked = askedTurn(body);
    const { id, message, parent } = asked;
    if (rows.has(id)) return { messageId: id };
    const open = rows.open();
    if (open && (work || !isWaiting(open))) throw turnRefusal("turn_in_progress");
    if (parent !== null && !messageIn(place.read(parent))) throw turnRefusal("message_unknown");
    // from here to the start nothing is awaited: of two devices with one turn, one begins it
    if (open) endWaiting(open, WENT_ON);
    const below = message?.id ?? String(parent);
    const refused = place.write(beginning(below, message && { message, parent, revision: 0 }));
    if (refused !== undefined) throw turnRefusal("turn_not_kept", refused);
    const turn: OpenTurn = { id, ...caller, below, tip: below, startedAt: Date.now(), tries: 0, claims: {} };
    rows.begin(turn);
    start(turn);
    return { messageId: below };
  }

  /** Makes the records of a turn that begins; a question that could not be sent before loses its error. */
  function beginning(below: string, question: object | undefined): Changes {
    const known = messageIn(place.read(below));
    const leaf: [string, unknown] = [LEAF, below];
    if (known?.message.role === "user" && known.message.error) {
      const { error: _, ...message } = known.message;
      return new Map([[below, changedRecord({ ...known, message }, {})], leaf]);
    }
    return new Map<string, unknown>(known || !question ? [leaf] : [[below, question], leaf]);
  }

  function start(turn: OpenTurn): void {
    if (turn.tries >= MOST_TRIES) return endLost(turn);
    keep({ ...turn, tries: turn.tries + 1 });
    place.wakeBy(Date.now() + BEAT_MS);
    isStalled = false;
    try {
      const begun = startWork({ place, setup, turn, onTip });
      work = begun;
      place.state.waitUntil(begun.done.then(ended, failed));
    } catch {
      failed();
    }
  }

  function onTip(tip: string): void {
    const turn = rows.open();
    if (turn && turn.tip !== tip) keep({ ...turn, tip, tries: 0 });
  }

  function ended(end: TurnEnd | undefined): void {
    work = undefined;
    const turn = rows.open();
    if (!turn) return;
    // it waits in its rows: nothing is held, and nothing wakes the object but a device
    if (!end) return isWaiting(turn) ? keep({ ...turn, tries: 0 }) : start(turn);
    finish(turn, isStalled ? { outcome: "failed", code: "run_stalled", error: STALLED } : end);
  }

  /** Work that failed by itself is tried again by the alarm, a few times. */
  function failed(): void {
    work = undefined;
  }

  /** Ends a turn: its last records, its row and its event are of one transaction. */
  function finish(turn: OpenTurn, { error, ...end }: TurnEnd): void {
    const last = messageIn(place.read(turn.tip));
    if (last && (error || isInFlight(last.message)))
      place.write(
        new Map([
          [turn.tip, changedRecord(last, { ...endedFields(last.message.role), ...(error && { error }) })],
        ]),
      );
    place.write(leftovers(turn));
    rows.end(turn.id);
    reportEnd(turn, end);
    const { outcome, code } = end;
    const { id, user, tip } = turn;
    const told = { id, conversation: place.conversation, userId: user.id, messageId: tip, outcome, code };
    const notified = new Promise((resolve) => resolve(setup.onEnd?.(told, place.env)));
    place.state.waitUntil(notified.catch(() => {}));
  }

  function reportEnd(turn: OpenTurn, end: Omit<TurnEnd, "error">): void {
    const { id, user, requestId, startedAt } = turn;
    const job = { id, user: user.id, userName: "", requestId, model: setup.model, startedAt };
    report(setup.onEvent, "run", job, end, place.env);
  }

  /** Removes the reactions and claims of a turn that is over. */
  function leftovers({ tip, claims }: OpenTurn): Changes {
    const calls = messageIn(place.read(tip))?.message.toolCalls ?? [];
    const keys = calls.flatMap(({ id }) => [reactionKey(tip, id), claimKey(tip, id)]);
    const all = [...new Set([...keys, ...Object.keys(claims)])].filter(
      (key) => place.read(key) !== undefined,
    );
    return new Map(all.map((key) => [key, undefined]));
  }

  function stop(): void {
    if (work) return work.stop();
    const turn = rows.open();
    if (turn) endWaiting(turn, STOPPED);
  }

  function endWaiting(turn: OpenTurn, reason: string): void {
    const last = messageIn(place.read(turn.tip));
    const fields = last && closedCalls(last.message, reason);
    const outcome = last && isInFlight(last.message) ? { outcome: "stopped" } : {};
    if (last) place.write(new Map([[turn.tip, changedRecord(last, { ...fields, ...outcome })]]));
    finish(turn, { outcome: "stopped" });
  }

  function endLost(turn: OpenTurn): void {
    const last = messageIn(place.read(turn.tip));
    const fields = last && closedCalls(last.message, LOST.message);
    if (last) place.write(new Map([[turn.tip, changedRecord(last, fields ?? {})]]));
    finish(turn, { outcome: "lost", code: "run_lost", error: LOST });
  }

  function changed(changes: Changes): void {
    const turn = rows.open();
    if (!turn) return;
    const stopped = messageIn(changes.get(turn.tip));
    // a device that does not hand its turns over stops an answer by its record
    if (stopped?.isStopped) stop();
    const removed = [...changes].flatMap(([key, value]) =>
      value === undefined && !key.startsWith("/") ? key : [],
    );
    if (removed.length > 0) work?.removed(removed);
    if (!work && removed.includes(turn.tip)) return finish(turn, { outcome: "stopped" });
    const claims = [...changes.keys()].filter(
      (key) => key.startsWith("/claim/") && changes.get(key) !== undefined,
    );
    if (claims.length > 0) noteClaims(turn, claims);
    if (![...changes.keys()].some((key) => key.startsWith("/reaction/"))) return;
    if (work) work.react();
    else if (hasReaction(turn)) start(turn);
  }

  /** Waits no longer than `pageToolMs` for a page that has taken a call. */
  function noteClaims(turn: OpenTurn, keys: readonly string[]): void {
    const now = Date.now();
    const claims = { ...Object.fromEntries(keys.map((key) => [key, now])), ...turn.claims };
    keep({ ...turn, claims });
    place.wakeBy(now + setup.pageToolMs);
  }

  function resume(): void {
    const turn = work ? undefined : rows.open();
    if (turn && !isWaiting(turn)) start(turn);
  }

  function alarm(): void {
    const turn = rows.open();
    if (!turn) return;
    endClaims(turn);
    if (!work) resume();
    if (!work) return;
    if (Date.now() - work.aliveAt >= setup.stallMs) {
      isStalled = true;
      work.stop();
    }
    place.wakeBy(Date.now() + BEAT_MS);
  }

  function drop(): void {
    const turn = rows.open();
    work?.drop();
    work = undefined;
    if (!turn) return;
    rows.end(turn.id);
    reportEnd(turn, { outcome: "stopped", code: "conversation_removed" });
  }

  /** Answers calls that a page has taken and not answered in time, in the page's place. */
  function endClaims(turn: OpenTurn): void {
    const now = Date.now();
    const calls = messageIn(place.read(turn.tip))?.message.toolCalls?.filter(isPendingCall) ?? [];
    for (const { id } of calls) {
      const at = turn.claims[claimKey(turn.tip, id)];
      const key = reactionKey(turn.tip, id);
      if (at === undefined || place.read(key) !== undefined) continue;
      if (now < at + setup.pageToolMs) place.wakeBy(at + setup.pageToolMs);
      else {
        const changes = new Map([[key, { output: PAGE_LEFT }]]);
        place.write(changes);
        changed(changes);
      }
    }
  }

  /** True for a turn that waits for devices, none of which has said anything yet. */
  function isWaiting(turn: OpenTurn): boolean {
    const { toolCalls = [] } = messageIn(place.read(turn.tip))?.message ?? {};
    const isRunning = toolCalls.some(({ state }) => state === "running");
    return !isRunning && toolCalls.some(isPendingCall) && !hasReaction(turn);
  }

  function hasReaction({ tip }: OpenTurn): boolean {
    const { toolCalls = [] } = messageIn(place.read(tip))?.message ?? {};
    return toolCalls.some(
      (call) => isPendingCall(call) && place.read(reactionKey(tip, call.id)) !== undefined,
    );
  }

  function keep(turn: OpenTurn): void {
    rows.keep(turn);
  }
}

const STALLED = {
  name: "TimeoutError",
  message: "the server has stopped this turn: it came to nothing new for too long; it may be billed",
  code: "run_stalled",
  outcome: "unknown",
};
const LOST = {
  name: "StreamError",
  message: "the server was restarted again and again while it worked on this; it may be billed",
  code: "run_lost",
  outcome: "unknown",
};

/** An answer that is given up has an outcome; a question has none. */
function endedFields(role: string): { readonly outcome?: string } {
  return role === "assistant" ? { outcome: "interrupted" } : {};
}
