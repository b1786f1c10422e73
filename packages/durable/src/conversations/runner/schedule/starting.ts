import type { JobEvent } from "@sluice/worker-proxy";
import { notifyOf, Refusal, textOf } from "@sluice/worker-proxy/internal";
import type { RunnerSetup } from "../options.js";
import type { RunPlace } from "../place.js";
import { isInFlight, LEAF, messageIn } from "../records.js";
import type { OpenTurn, TurnRows } from "../rows.js";
import { isAllowed } from "./may-start.js";
import { type Failed, failedQuestion, madeOf, questionOf } from "./questions.js";
import type { openScheduleRows } from "./schedule-rows.js";
import type { Schedule, ScheduleStart } from "./shape.js";
import { timesAround } from "./times.js";

/** Pause after a start that could not be decided, or while a page works on an answer, in milliseconds. */
export const PAUSE_MS = 60_000;

/** The parts of a conversation that starts change. */
export interface StartingParts {
  readonly rows: ReturnType<typeof openScheduleRows>;
  readonly turns: TurnRows;
  keep(schedule: Schedule): void;
  /**
   * Begins a turn with its question. Nothing is awaited.
   *
   * @returns the code of a question that could not be kept
   */
  enter(turn: OpenTurn, question: object): string | undefined;
}

/** Opens the starts of schedules whose time has come. */
export function openStarting<Env>(
  place: RunPlace<Env>,
  setup: RunnerSetup<Env>,
  { rows, turns, keep, enter }: StartingParts,
) {
  const { env, conversation } = place;
  const { mayStart, lateMs = 0 } = setup.schedules ?? {};
  return { step };

  /** Starts a schedule, or says why it does not start. */
  async function step(schedule: Schedule, isGone: () => boolean): Promise<void> {
    const dueAt = newestOf(schedule);
    const { id, user } = schedule;
    const lastAt = dueAt + lateMs;
    if (Date.now() > lastAt) return skip(schedule, { at: dueAt, outcome: "missed", code: "schedule_missed" });
    if (isBusy()) return postpone(id, lastAt);
    const isPermitted = await isAllowed(mayStart, { user: { id: user }, conversation, schedule: id }, env);
    const noRoom = isPermitted && !isGone() ? await refusalOfRoom(schedule) : undefined;
    // nothing is awaited from here on: the start, its question and the next time are of one transaction
    if (isGone() || JSON.stringify(rows.find(id)) !== JSON.stringify(schedule)) return;
    if (isPermitted === undefined) {
      const nextAt = Date.now() + PAUSE_MS;
      report(schedule, { outcome: "waiting", code: "may_start_failed", nextAt });
      return rows.postpone(id, Math.min(nextAt, lastAt + 1));
    }
    if (isBusy()) return postpone(id, lastAt);
    const refusal = isPermitted ? (noRoom ?? start(schedule, dueAt)) : "not_permitted";
    if (refusal !== undefined) skip(schedule, { at: dueAt, outcome: "refused", code: refusal });
  }

  /** Waits for the end of a turn, which wakes it; a page that works on an answer tells of none. */
  function postpone(id: string, lastAt: number): void {
    rows.postpone(id, turns.open() ? lastAt + 1 : Math.min(Date.now() + PAUSE_MS, lastAt + 1));
  }

  /** Returns the code for which there is no room. @throws any other error: it may pass */
  async function refusalOfRoom(schedule: Schedule): Promise<string | undefined> {
    try {
      await place.room(JSON.stringify(schedule).length + 2_000);
      return undefined;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return textOf(error).code ?? "space_exceeded";
    }
  }

  /** Begins the turn. One that was begun before, by a process that is gone, is not begun again. */
  function start(schedule: Schedule, dueAt: number): string | undefined {
    const question = questionOf(schedule, dueAt, leaf());
    const { id } = question.message;
    if (!turns.has(id)) {
      const turn = { id, user: { id: schedule.user }, below: id, tip: id, startedAt: Date.now() };
      const refused = enter({ ...turn, tries: 0, claims: {}, ...madeOf(schedule) }, question);
      if (refused !== undefined) return refused;
    }
    keep(after(schedule, { at: dueAt, outcome: "started", messageId: id }));
    return undefined;
  }

  /** Ends a start that does not happen: with an event, in the schedule, and as a question with an error. */
  function skip(schedule: Schedule, failed: Failed): void {
    const question = failedQuestion(schedule, failed, leaf());
    const { id: messageId } = question.message;
    const isShown =
      !isBusy() &&
      place.write(
        new Map<string, unknown>([
          [messageId, question],
          [LEAF, messageId],
        ]),
      ) === undefined;
    keep(after(schedule, { ...failed, ...(isShown && { messageId }) }));
    report(schedule, { outcome: failed.outcome === "missed" ? "dropped" : "refused", code: failed.code });
  }

  /** True while something works on the thread. What a page has left open long ago holds nothing up. */
  function isBusy(): boolean {
    if (turns.open()) return true;
    const last = messageIn(place.read(leaf() ?? LEAF))?.message;
    return last !== undefined && isInFlight(last) && Date.now() - (last.createdAt ?? 0) < setup.stallMs;
  }

  /** Returns the id of the last shown message; null where there is none. */
  function leaf(): string | null {
    const id = place.read(LEAF);
    return typeof id === "string" && messageIn(place.read(id)) ? id : null;
  }

  function report({ id, user }: Schedule, event: Pick<JobEvent, "outcome" | "code" | "nextAt">): void {
    notifyOf(setup.onEvent, { kind: "schedule", id, user, ...event }, env);
  }
}

/** The newest time of a schedule that has come: of several that were missed, the last. */
function newestOf(schedule: Schedule): number {
  const dueAt = schedule.nextAt ?? 0;
  return Math.max(dueAt, timesAround(schedule, Date.now()).last ?? dueAt);
}

/** Returns the schedule behind a start. */
function after(schedule: Schedule, last: ScheduleStart): Schedule {
  const now = Date.now();
  const isOver = last.code === "not_permitted";
  const nextAt = isOver ? undefined : timesAround(schedule, Math.max(now, last.at)).next;
  if (nextAt !== undefined) return { ...schedule, last, nextAt };
  return { ...schedule, last, nextAt: null, endedAt: now, code: isOver ? "not_permitted" : "done" };
}
