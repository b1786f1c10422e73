import {
  ENDED_WITHOUT_STATE,
  type FailedPoll,
  type FailedResponse,
  isSucceeded,
  type PollResult,
  removeTraceIds,
} from "./task-response.js";

/** A watched task, as its row stores it. */
export type WatchedTask = {
  /** The gateway's id. */
  readonly id: string;
  /** The id that `authenticate` returned. */
  readonly userId: string;
  /** Present if the watch began with the task itself. Such a watch needs no reader. */
  readonly created?: CreatedTask;
  /** True if two polls are never less than the interval apart. */
  readonly isSteady: boolean;
  /** True after the user has removed the task: its webhook says so. */
  readonly isRemoved?: boolean;
  readonly startedAt: number;
  /** Time at which the watch was last seen with a reader. */
  readonly lastReaderAt: number;
  /** Number of polls. */
  readonly polls: number;
  /** Time of the last poll, stored before it is sent; 0 before the first. */
  readonly askedAt: number;
  /** Id of the poll that is under way. A response of another poll is dropped. */
  readonly polling?: string;
  /** Id of the poll whose response was stored last. */
  readonly polled?: string;
  /** Number of changes that readers can see. It begins with the time, so that a later watch repeats none. */
  readonly version: number;
  /** Number of the newest event. It begins with the time, so that a later watch of the task repeats none. */
  readonly seq: number;
  /** Envelope of the newest event; undefined until the gateway knows the task. */
  readonly envelope?: string;
  /** Number of responses that show the task. Polls come further apart with it. */
  readonly responses: number;
  /** Number of failed polls in a row. */
  readonly failures: number;
  /** Number of those whose response was unreadable or a refusal. */
  readonly unreadable: number;
  /** Number of responses with a success that has no file yet. */
  readonly fileless?: number;
  /** The polls since the last response that the gateway refused with 404. */
  readonly absent?: { readonly times: number; readonly since: number };
  /** The refusal of the last poll, for a page that polls while there is no envelope. */
  readonly failure?: FailedResponse;
  /** Set when no more polls follow. */
  readonly end?: TaskEnd;
  /** The state that was reported before the watch was resumed. The same state is not reported again. */
  readonly told?: EndState;
  /** Time of the next poll. */
  readonly nextAt: number;
};

/** The end of a watch. */
export type TaskEnd = {
  /** The body of the error; absent if the task reached a final state. */
  readonly error?: string;
  /** HTTP status of the error. */
  readonly status?: number;
  readonly at: number;
  /** Time until which the end is stored. */
  readonly retainedUntil: number;
};

/** A task that was seen when it was created. */
export type CreatedTask = {
  /** The task's id as its user knows it. */
  readonly sentId: string;
  readonly model?: string | undefined;
  /** The `x-request-id` of the create. */
  readonly requestId?: string | undefined;
};

/** The end of a task, as handlers get it. */
export type EndState = "succeeded" | "failed" | "expired" | "unknown";

/** Longest pause before the second poll; the shortest one of a watch that is not steady. */
const FIRST_PAUSE_MS = 5_000;
/** Pause without a reader, and the time without one after which it begins. */
const IDLE_PAUSE_MS = 60_000;
const IDLE_AFTER_MS = 5 * 60_000;
/** Time for which a watch continues without a reader. */
const ABANDONED_AFTER_MS = 60 * 60_000;
/** Longest pause after failures alone. */
const MAX_PAUSE_MS = 120_000;
/** Gateways forget a task after about as long. */
const MAX_WATCH_MS = 24 * 60 * 60_000;
/** Longest pause that the gateway can ask for. With its jitter it is less than 10 minutes. */
const MAX_RETRY_AFTER_MS = 8 * 60_000;
/** Number of polls with 404 that make a task absent, and the time over which they come. An id that was never seen may be wrong. */
const ABSENT = { seen: { times: 5, ms: 5 * 60_000 }, unseen: { times: 2, ms: 30_000 } };
const UNREADABLE_IN_A_ROW = 3;
/** Number of further polls after a success without a file. */
const RESULT_POLLS = 3;
/** Time for which an error is stored for later readers: its cause may have been corrected since. */
const ERROR_RETENTION_MS = 60_000;

/** Times of a watch, in milliseconds, and the chance of its jitter. */
export type Pace = {
  readonly intervalMs: number;
  /** Time for which an end is stored. */
  readonly retentionMs: number;
  /** In [0, 1). */
  readonly random: number;
};

/** Returns the time before which a task is not polled again. */
export function getSoonestPoll({ isSteady, askedAt }: WatchedTask, intervalMs: number): number {
  return askedAt + (isSteady ? intervalMs : getFirstPause(intervalMs));
}

function getFirstPause(intervalMs: number): number {
  return Math.min(FIRST_PAUSE_MS, intervalMs);
}

/** Creates the watch of a task that is known by its id alone. */
export function createWatch(
  identity: Pick<WatchedTask, "id" | "userId" | "isSteady">,
  now: number,
): WatchedTask {
  return {
    ...identity,
    startedAt: now,
    lastReaderAt: now,
    polls: 0,
    askedAt: 0,
    version: now,
    seq: now,
    responses: 0,
    failures: 0,
    unreadable: 0,
    nextAt: now,
  };
}

/** Adds the facts of a create to a watch, which may have begun before the create's response came. */
export function addCreate(
  task: WatchedTask,
  created: CreatedTask,
  receipt: string | undefined,
  { intervalMs, random }: Pick<Pace, "intervalMs" | "random">,
): WatchedTask {
  const envelope = task.envelope ?? receipt;
  // spread: tasks that were created in one moment are not polled in one
  const first = Math.ceil(getFirstPause(intervalMs) * (1 + 0.2 * random));
  const nextAt = task.askedAt === 0 ? task.startedAt + first : task.nextAt;
  const version = task.version + 1;
  return { ...task, created, isSteady: true, nextAt, version, ...(envelope && { envelope }) };
}

/** Returns true for a watch that needs a reader, and has had none for an hour. */
export function isAbandoned({ created, end, lastReaderAt }: WatchedTask, now: number): boolean {
  return !created && !end && now - lastReaderAt >= ABANDONED_AFTER_MS;
}

/** Notes a reader. The next poll comes sooner if it was put off for the lack of one. */
export function addReader(task: WatchedTask, now: number, intervalMs: number): WatchedTask {
  const wasIdle = task.failures === 0 && now - task.lastReaderAt >= IDLE_AFTER_MS;
  const soonest = Math.max(now, getSoonestPoll(task, intervalMs));
  const nextAt = wasIdle ? Math.min(task.nextAt, soonest) : task.nextAt;
  return { ...task, lastReaderAt: now, nextAt };
}

/** Returns the watch after the result of another poll, with the time of the next one. */
export function applyResult(task: WatchedTask, result: PollResult, pace: Pace, now: number): WatchedTask {
  const { failure: _, absent, ...asked } = { ...task, askedAt: now };
  const isLate = now - task.startedAt >= MAX_WATCH_MS;
  if (result.type === "task") {
    const isNew = removeTraceIds(task.envelope) !== removeTraceIds(result.envelope);
    const update = isNew && { envelope: result.envelope, seq: task.seq + 1, version: task.version + 1 };
    const known = { ...asked, ...update, responses: task.responses + 1, failures: 0, unreadable: 0 };
    const { fileless = 0 } = task;
    const hasNoFile = task.created && result.isFinal && !result.hasEnded && fileless < RESULT_POLLS;
    if (hasNoFile) return pause({ ...known, fileless: fileless + 1 }, 0, pace);
    if (result.isFinal) return end(known, pace, now);
    return isLate ? end(known, pace, now, ENDED_WITHOUT_STATE.late) : pause(known, 0, pace);
  }
  const failed: WatchedTask = {
    ...asked,
    failure: { status: result.status, error: result.error },
    failures: task.failures + 1,
    unreadable: task.unreadable + (result.type === "unreadable" || result.type === "refused" ? 1 : 0),
    ...(result.type === "absent"
      ? { absent: { times: (absent?.times ?? 0) + 1, since: absent?.since ?? now } }
      : absent && { absent }),
  };
  const failure = findEndingFailure(failed, result, isLate, now);
  if (failure) return end(failed, pace, now, failure);
  const retryAfterMs = result.type === "passing" ? result.retryAfterMs : 0;
  return pause(failed, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS), pace);
}

/** Returns the error that ends the watch after a failed poll, if any does. No single response ends a watch. */
function findEndingFailure(
  task: WatchedTask,
  { type, status, error }: FailedPoll,
  isLate: boolean,
  now: number,
): FailedResponse | undefined {
  if (type === "absent" && isAbsent(task, now)) return ENDED_WITHOUT_STATE.absent;
  // a task whose end is awaited outlasts an account that is empty for an hour
  if (type !== "passing" && task.unreadable > UNREADABLE_IN_A_ROW && !task.created) return { status, error };
  return isLate ? ENDED_WITHOUT_STATE.late : undefined;
}

function isAbsent({ created, responses, startedAt, absent }: WatchedTask, now: number): boolean {
  if (!absent) return false;
  const wasSeen = created !== undefined || responses > 0;
  const { times, ms } = wasSeen ? ABSENT.seen : ABSENT.unseen;
  // a gateway may not know a new task yet
  return absent.times >= times && now - (wasSeen ? absent.since : startedAt) >= ms;
}

/** Returns true for a watch that ended without a final state some time ago: the cause may have been corrected. */
export function canResume({ end }: WatchedTask, now: number): boolean {
  return end?.error !== undefined && now - end.at >= ERROR_RETENTION_MS;
}

/** Continues a watch that ended without a final state. */
export function resume({ absent: _, end, ...task }: WatchedTask, now: number): WatchedTask {
  const told = end && { told: getEndState(task, end) };
  const counts = { failures: 0, unreadable: 0, lastReaderAt: now, nextAt: now };
  return { ...task, ...told, ...counts, version: task.version + 1 };
}

/** Returns the state in which a task has ended. */
export function getEndState({ envelope }: Pick<WatchedTask, "envelope">, { error }: TaskEnd): EndState {
  if (error !== undefined) return error === ENDED_WITHOUT_STATE.absent.error ? "expired" : "unknown";
  return envelope !== undefined && isSucceeded(JSON.parse(envelope)) ? "succeeded" : "failed";
}

function end(task: WatchedTask, { retentionMs }: Pace, now: number, failure?: FailedResponse): WatchedTask {
  const retainedUntil = now + (failure && !task.created ? ERROR_RETENTION_MS : retentionMs);
  const reached = { at: now, retainedUntil };
  const taskEnd = failure ? { ...reached, error: failure.error, status: failure.status } : reached;
  return { ...task, end: taskEnd, version: task.version + 1, nextAt: retainedUntil };
}

/** Sets the next poll: slowly further apart, far apart without a reader, and never before the gateway allows it. */
function pause(task: WatchedTask, retryAfterMs: number, { random, intervalMs }: Pace): WatchedTask {
  const { askedAt, lastReaderAt, responses, failures, startedAt, isSteady } = task;
  const hadReader = askedAt - lastReaderAt < IDLE_AFTER_MS;
  const grown = Math.min(intervalMs, getFirstPause(intervalMs) * 1.5 ** Math.max(0, responses - 1));
  const usual = !hadReader ? IDLE_PAUSE_MS : isSteady ? intervalMs : grown;
  const longer = Math.min(usual * 2 ** Math.max(0, failures - 1), MAX_PAUSE_MS);
  const least = isSteady ? 1 : 0.9;
  const jittered = Math.max(longer, retryAfterMs / least) * (least + 0.2 * random);
  const nextAt = Math.max(askedAt + Math.ceil(jittered), getSoonestPoll(task, intervalMs));
  return { ...task, nextAt: Math.min(nextAt, startedAt + MAX_WATCH_MS) };
}
