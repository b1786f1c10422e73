import {
  ended,
  envelopeIn,
  type FailedAnswer,
  type FailedPoll,
  isSucceeded,
  type TaskAnswer,
} from "./task-query.js";

/** State of a watch in its storage: all that it needs to go on after it was evicted. */
export interface WatchedTask {
  /** Version of these fields. One that has been released is never changed. */
  readonly version: typeof VERSION;
  /** The gateway's own. */
  readonly id: string;
  /** The id that `authenticate` returned for the first request about it; absent in a watch of an earlier version. */
  readonly userId?: string;
  /** Present where the watch began with the task itself: it then goes on without a reader. */
  readonly created?: CreatedTask;
  /** True where two polls are never less than the interval apart. */
  readonly isSteady: boolean;
  /** True after its user has removed the task: its webhook says so. */
  readonly isRemoved?: boolean;
  readonly startedAt: number;
  /** Time at which there was last a reader. */
  readonly lastReaderAt: number;
  /** Number of polls. */
  readonly polls: number;
  /** Time of the last poll, stored before it is sent; 0 before the first. */
  readonly askedAt: number;
  /** The number of the newest event. Begins with the time, so that a later watch of the task never repeats one. */
  readonly seq: number;
  /** Envelope of the newest event; undefined before the gateway knew the task. */
  readonly envelope?: string;
  /** Number of answers; they come further apart with time. */
  readonly answers: number;
  /** Number of polls in a row without an answer. */
  readonly failures: number;
  /** Number of those whose answer was unreadable or a refusal. */
  readonly unreadable: number;
  /** Number of answers with a success that has no file yet. */
  readonly fileless?: number;
  /** The polls since the last answer that the gateway answered with 404. */
  readonly absent?: { readonly times: number; readonly since: number };
  /** The refusal that the last poll ended in, for a page that polls before there is an envelope. */
  readonly failure?: FailedAnswer;
  /** Set when there are no more polls; `error` where there is no final state. */
  readonly end?: TaskEnd;
  /** State that the work after the end has saved. */
  readonly progress?: unknown;
  /** True when there is no more work after the end. */
  readonly isDone?: boolean;
  /** The parts of that work that an operator wants done again. */
  readonly again?: readonly string[];
  /** The end before the watch was resumed: the same one is not told again. */
  readonly told?: { readonly state: EndState; readonly progress?: unknown; readonly isDone?: boolean };
  /** Time of the alarm: to poll again, or to forget. */
  readonly nextAt: number;
}

/** The end of a watch. */
export interface TaskEnd {
  /** Absent where the task reached a final state. */
  readonly error?: string;
  /** HTTP status of the error. */
  readonly status?: number;
  readonly at: number;
  /** Time at which the end is forgotten. */
  readonly keepUntil: number;
}

/** A task that was seen when it was created. */
export interface CreatedTask {
  /** The id that `authenticate` returned. */
  readonly userId: string;
  /** The task's id as its user knows it. */
  readonly sentId: string;
  readonly model?: string | undefined;
  /** The `x-request-id` of the create; absent in a watch of an earlier version. */
  readonly requestId?: string | undefined;
}

/** The end of a task, as its user is told. */
export type EndState = "succeeded" | "failed" | "expired" | "unknown";

const VERSION = 2;

/**
 * Reads a watch as it is stored, also by an earlier version of this package.
 *
 * @throws {Error} for one of a later version: after a step back of a deploy, nothing is read wrongly or changed
 */
export function storedTask(stored: unknown): WatchedTask | undefined {
  if (stored === undefined) return undefined;
  const task = stored as WatchedTask;
  const { version = 1 } = task as { version?: number };
  if (version > VERSION)
    throw new Error(
      `the watch has version ${version}, and this Worker knows ${VERSION}: deploy the newer one`,
    );
  return version === VERSION ? task : { ...task, version: VERSION, polls: task.answers + task.failures };
}

/** Longest pause before the second poll; the shortest one of a watch that is not steady. */
const FIRST_PAUSE_MS = 5_000;
/** Usual pause between two polls. */
export const INTERVAL_MS = 15_000;
/** Bounds of an interval that the operator sets. */
export const SHORTEST_INTERVAL_MS = 2_000;
export const LONGEST_INTERVAL_MS = 60_000;
/** Pause without a reader, and the time without one after which it begins. */
const IDLE_PAUSE_MS = 60_000;
const IDLE_AFTER_MS = 5 * 60_000;
/** Time for which a watch goes on without a reader. */
export const ABANDONED_AFTER_MS = 60 * 60_000;
/** The longest pause that failures alone lead to. */
const LONGEST_PAUSE_MS = 120_000;
/** Gateways forget a task after about as long. */
const LONGEST_WATCH_MS = 24 * 60 * 60_000;
/** The longest pause that the gateway can ask for; with its jitter, less than 10 minutes. A watch goes on, whatever it says once. */
const LONGEST_RETRY_AFTER_MS = 8 * 60_000;
/** Number of polls with 404 that make a task absent, and the time over which they come. An id that was never seen may be wrong. */
const ABSENT = { seen: { times: 5, ms: 5 * 60_000 }, unseen: { times: 2, ms: 30_000 } };
const UNREADABLE_IN_A_ROW = 3;
/** Number of further polls after a success without a file. */
const RESULT_POLLS = 3;
/** Time for which an error is kept for later readers: less than an end, since it may have been mended. */
const ERROR_KEPT_MS = 60_000;

/** Returns the time before which a task is not polled again, whatever happens. */
export function soonestPoll({ isSteady, askedAt }: WatchedTask, intervalMs: number): number {
  return askedAt + (isSteady ? intervalMs : firstPause(intervalMs));
}

function firstPause(intervalMs: number): number {
  return Math.min(FIRST_PAUSE_MS, intervalMs);
}

/** Begins the watch of a task that is known by its id alone. */
export function newTask(
  id: string,
  now: number,
  { isSteady, userId }: Pick<WatchedTask, "isSteady" | "userId">,
): WatchedTask {
  return {
    version: VERSION,
    id,
    ...(userId !== undefined && { userId }),
    isSteady,
    startedAt: now,
    lastReaderAt: now,
    polls: 0,
    askedAt: 0,
    seq: now,
    answers: 0,
    failures: 0,
    unreadable: 0,
    nextAt: now,
  };
}

/** Returns the state of a task that was created now, or whose create is known only now. */
export function createdTask(
  known: WatchedTask,
  created: CreatedTask,
  receipt: unknown,
  intervalMs: number,
): WatchedTask {
  const envelope = known.envelope ?? envelopeIn(receipt)?.envelope;
  const nextAt = known.askedAt === 0 ? known.startedAt + firstPause(intervalMs) : known.nextAt;
  return { ...known, created, isSteady: true, nextAt, ...(envelope && { envelope }) };
}

/** The circumstances of one answer. */
export interface Moment {
  readonly now: number;
  /** In [0, 1). */
  readonly random: number;
  /** Time for which the end is kept, in milliseconds. */
  readonly keepMs: number;
  /** Usual pause between two polls, in milliseconds. */
  readonly intervalMs: number;
}

/** Returns the state after another answer, with the time of the next poll. */
export function afterAnswer(task: WatchedTask, answer: TaskAnswer, moment: Moment): WatchedTask {
  const { now } = moment;
  const { failure: _, absent, ...asked } = { ...task, askedAt: now };
  const isLate = now - task.startedAt >= LONGEST_WATCH_MS;
  if (answer.type === "task") {
    const isNews = faceOf(task.envelope) !== faceOf(answer.envelope);
    const { envelope, seq } = isNews ? { envelope: answer.envelope, seq: task.seq + 1 } : task;
    const known = {
      ...asked,
      ...(envelope && { envelope }),
      seq,
      answers: task.answers + 1,
      failures: 0,
      unreadable: 0,
    };
    const { fileless = 0 } = task;
    const hasNoFile = task.created && answer.isFinal && !answer.hasEnded && fileless < RESULT_POLLS;
    if (hasNoFile) return paused({ ...known, fileless: fileless + 1 }, 0, moment);
    if (answer.isFinal) return over(known, moment);
    return isLate ? over(known, moment, ended.late) : paused(known, 0, moment);
  }
  const failed = {
    ...asked,
    failure: { status: answer.status, error: answer.error },
    failures: task.failures + 1,
    unreadable: task.unreadable + (answer.type === "unreadable" || answer.type === "refused" ? 1 : 0),
    ...(answer.type === "absent"
      ? { absent: { times: (absent?.times ?? 0) + 1, since: absent?.since ?? now } }
      : absent && { absent }),
  };
  const end = endAfter(failed, answer, isLate, now);
  if (end) return over(failed, moment, end);
  const retryAfterMs = answer.type === "passing" ? answer.retryAfterMs : 0;
  return paused(failed, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS), moment);
}

/** Returns the error that a failed poll ends the watch with, if it does. No single answer ends it. */
function endAfter(
  task: WatchedTask,
  { type, ...failure }: FailedPoll,
  isLate: boolean,
  now: number,
): FailedAnswer | undefined {
  if (type === "absent" && isAbsent(task, now)) return ended.absent;
  // a task whose end is awaited outlasts an account that is empty for an hour
  if (type !== "passing" && task.unreadable > UNREADABLE_IN_A_ROW && !task.created) return failure;
  return isLate ? ended.late : undefined;
}

function isAbsent({ created, answers, startedAt, absent }: WatchedTask, now: number): boolean {
  if (!absent) return false;
  const wasSeen = created !== undefined || answers > 0;
  const { times, ms } = wasSeen ? ABSENT.seen : ABSENT.unseen;
  // a gateway may not know a new task yet
  return absent.times >= times && now - (wasSeen ? absent.since : startedAt) >= ms;
}

/** Returns the state of a watch that ended without a final state and is asked for again: it goes on. */
export function resumedTask(
  { end, absent: _, progress, isDone = false, again: __, ...task }: WatchedTask,
  now: number,
): WatchedTask {
  const told = end && { state: endStateOf(task, end), progress, isDone };
  const counts = { failures: 0, unreadable: 0, lastReaderAt: now, nextAt: now };
  return { ...task, ...(told && { told }), ...counts };
}

/** Returns true for a watch that ended without a final state some time ago: it may have been mended since. */
export function mayResume({ end }: WatchedTask, now: number): boolean {
  return end?.error !== undefined && now - end.at >= ERROR_KEPT_MS;
}

/** Returns the state by which an `EndHandler` learns of an end. */
export function endStateOf({ envelope }: Pick<WatchedTask, "envelope">, { error }: TaskEnd): EndState {
  if (error !== undefined) return error === ended.absent.error ? "expired" : "unknown";
  return envelope !== undefined && isSucceeded(JSON.parse(envelope)) ? "succeeded" : "failed";
}

/** Returns true for the end of a watch that was resumed and ended as before. */
export function isToldBefore({ end, told, ...task }: WatchedTask): boolean {
  return end !== undefined && told !== undefined && told.state === endStateOf(task, end);
}

function over(task: WatchedTask, { now, keepMs }: Moment, failure?: FailedAnswer): WatchedTask {
  const keepUntil = now + (failure && !task.created ? ERROR_KEPT_MS : keepMs);
  const reached = { at: now, keepUntil };
  const end = failure ? { ...reached, error: failure.error, status: failure.status } : reached;
  const over = { ...task, end, nextAt: keepUntil };
  // the work after the same end goes on where it was
  return isToldBefore(over)
    ? { ...over, progress: task.told?.progress, isDone: task.told?.isDone ?? false }
    : over;
}

/** Sets the next poll: slowly further apart, far apart without a reader, and never before the gateway allows. */
function paused(task: WatchedTask, retryAfterMs: number, { random, intervalMs }: Moment): WatchedTask {
  const { askedAt, lastReaderAt, answers, failures, startedAt, isSteady } = task;
  const hadReader = askedAt - lastReaderAt < IDLE_AFTER_MS;
  const first = firstPause(intervalMs);
  const grown = isSteady ? intervalMs : Math.min(intervalMs, first * 1.5 ** Math.max(0, answers - 1));
  const usual = hadReader ? grown : IDLE_PAUSE_MS;
  const longer = Math.min(usual * 2 ** Math.max(0, failures - 1), LONGEST_PAUSE_MS);
  const least = isSteady ? 1 : 0.9;
  const jittered = Math.max(longer, retryAfterMs / least) * (least + 0.2 * random);
  return { ...task, nextAt: Math.min(askedAt + Math.ceil(jittered), startedAt + LONGEST_WATCH_MS) };
}

/** Returns an envelope without its trace ids, which change with each answer. */
function faceOf(envelope: string | undefined): string | undefined {
  return (
    envelope &&
    JSON.stringify(JSON.parse(envelope), (key, value) =>
      /^(?:request|trace)_?id$/i.test(key) ? undefined : value,
    )
  );
}
