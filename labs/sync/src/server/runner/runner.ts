import { askedTurn } from "./asked.js";
import { openDevices } from "./devices.js";
import type { TurnEnd } from "./end.js";
import { ELSEWHERE, openEnding, STALLED } from "./ending.js";
import { openNotices } from "./notices.js";
import { checkedRunner, type RunnerOptions, type RunnerSetup } from "./options.js";
import type { BegunTurn, Changes, RunCaller, Runner, RunPlace, Runs } from "./place.js";
import { changedRecord, LEAF, messageIn } from "./records.js";
import { turnRefusal } from "./refusals.js";
import { type OpenTurn, openTurnRows } from "./rows.js";
import { startWork, type Work } from "./work.js";

/** Interval of the checks of a turn, in milliseconds: an object that gets no events is evicted after a minute or two. */
const BEAT_MS = 30_000;
/** Most starts in a row that come to no new message: what ends a process each time must not be paid for ever. */
const MOST_TRIES = 3;
const STOPPED = "the user stopped before the call had a result";
const WENT_ON = "the user went on without the call";

/**
 * Makes the part of `conversationsObject` that does turns without a page: `send` of a page hands the message over, and the
 * object asks for answers, runs tools and waits for approvals, as a chat of a page does. Tools may hold secrets of `env`.
 *
 * @throws {TypeError} for an option that is missing or can't work
 * @example
 * ```ts
 * const kept: ConversationsOptions<Env> = {
 *   namespace: (env) => env.CONVERSATIONS,
 *   runner: runner<Env>({ proxy: () => proxy, model: "delta-5.3", instructions: "You plan journeys." }),
 * };
 * export const Conversations = conversationsObject<Env>(kept);
 * const proxy = createProxy<Env>({
 *   ...options,
 *   plugins: [streamLog((env) => env.STREAM_LOG), conversations<Env>(kept)],
 * });
 * export default proxy;
 * ```
 */
export function runner<Env = unknown>(options: RunnerOptions<Env>): Runner<Env> {
  const setup = checkedRunner(options);
  return { open: (place) => openRuns(place, setup) };
}

function openRuns<Env>(place: RunPlace<Env>, setup: RunnerSetup<Env>): Runs {
  const rows = openTurnRows(place.state.storage.sql);
  const notices = openNotices(place, setup);
  const { finish, finishAs, finishLost, finishDropped } = openEnding(place, setup, rows, notices.add);
  const devices = openDevices(place, setup, rows);
  let work: Work | undefined;
  let isStalled = false;
  /** Number of times that everything was deleted. */
  let drops = 0;
  return { begin, stop, changed, resume, alarm, drop };

  async function begin(body: Parameters<Runs["begin"]>[0], caller: RunCaller): Promise<BegunTurn> {
    const { id, message, parent, by } = askedTurn(body);
    const below = message?.id ?? String(parent);
    const open = rows.open();
    if (rows.has(id)) return { messageId: below, ...(open?.below !== below && { isOver: true }) };
    if (open && (work || !devices.isWaiting(open))) {
      // a device that knew another state of this message asks for an answer to it, too
      if (id !== message?.id && open.below === below) {
        // it may come again when the turn is over
        rows.join(id);
        return { messageId: below };
      }
      throw turnRefusal("turn_in_progress");
    }
    if (parent !== null && !messageIn(place.read(parent))) throw turnRefusal("message_unknown");
    // nothing is awaited up to the start: of two devices with one turn, one begins it
    if (open) finishAs(open, WENT_ON, { outcome: "stopped" }, parent === open.tip);
    const turn: OpenTurn = { id, ...caller, below, tip: below, startedAt: Date.now(), tries: 0, claims: {} };
    const question = message && { message, parent, revision: 0, ...(by && { by }) };
    const refused = place.write(beginning(below, question));
    if (refused !== undefined) throw turnRefusal("turn_not_kept", { what: refused });
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
    if (turn.tries >= MOST_TRIES) return finishLost(turn);
    rows.keep({ ...turn, tries: turn.tries + 1 });
    place.wakeBy(Date.now() + BEAT_MS);
    isStalled = false;
    try {
      work = startWork({ place, setup, turn, onTip });
      place.state.waitUntil(work.done.then(ended, failed));
    } catch {
      failed();
    }
  }

  function onTip(tip: string): void {
    const turn = rows.open();
    if (turn && turn.tip !== tip) rows.keep({ ...turn, tip, tries: 0 });
  }

  function ended(end: TurnEnd | undefined): void {
    work = undefined;
    const turn = rows.open();
    if (!turn) return;
    if (end) return finish(turn, isStalled ? { outcome: "failed", code: STALLED.code, error: STALLED } : end);
    // it waits in its rows: nothing is held, and nothing wakes the object but a device
    if (devices.isWaiting(turn)) rows.keep({ ...turn, tries: 0 });
    else start(turn);
  }

  /** Work that failed by itself is tried again by the alarm, a few times. */
  function failed(): void {
    work = undefined;
  }

  function stop(): void {
    if (work) return work.stop();
    const turn = rows.open();
    if (turn) finishAs(turn, STOPPED);
  }

  function changed(changes: Changes): void {
    const turn = rows.open();
    const hasReaction = devices.take(turn, changes);
    if (!turn) return;
    // a device that does not hand its turns over stops an answer by its record
    if (messageIn(changes.get(turn.tip))?.isStopped) return stop();
    const removed = [...changes].flatMap(([key, value]) => (value === undefined ? key : []));
    work?.removed(removed.filter((key) => !key.startsWith("/")));
    if (!work && removed.includes(turn.tip)) return finish(turn, { outcome: "stopped" });
    if (!work && changes.has(turn.tip) && !devices.isWaiting(turn) && !devices.hasReaction(turn))
      return finish(turn, { outcome: "stopped", code: ELSEWHERE });
    if (!hasReaction) return;
    if (work) work.react();
    else start(rows.open() ?? turn);
  }

  function resume(): void {
    const turn = work ? undefined : rows.open();
    if (turn && !devices.isWaiting(turn)) start(turn);
  }

  async function alarm(): Promise<void> {
    const before = drops;
    goOn();
    await notices.alarm(() => drops !== before);
  }

  /** Does what is due for the turn. */
  function goOn(): void {
    const turn = rows.open();
    if (!turn) return;
    const late = devices.overdue(turn);
    place.write(late);
    changed(late);
    resume();
    if (!work) return;
    if (Date.now() - work.aliveAt >= setup.stallMs) {
      isStalled = true;
      work.stop();
    }
    place.wakeBy(Date.now() + BEAT_MS);
  }

  function drop(): void {
    const turn = rows.open();
    drops += 1;
    notices.drop();
    work?.drop();
    work = undefined;
    if (turn) finishDropped(turn);
  }
}
