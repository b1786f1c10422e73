import {
  ENDED_WITHOUT_STATE,
  type FailedResponse,
  isSucceeded,
  type PollResult,
  removeTraceIds,
} from "./task-response.js";

/** A watched task, as its row stores it. */
export type WatchedTask = {
  /** The gateway's task id. */
  readonly id: string;
  /** The id that `authenticate` returned. */
  readonly userId: string;
  /** Absent if the watch started with a client's query of the task. */
  readonly created?: CreatedTask;
  /** True after the user has removed the task. The webhook reports the removal. */
  readonly isRemoved?: boolean;
  readonly startedAt: number;
  readonly polls: number;
  /** Id of the poll whose response was stored last. */
  readonly lastPoll?: string;
  /**
   * Increases with each change that clients can see. Starts at the current time, so that a later watch of the task does
   * not reuse a version.
   */
  readonly version: number;
  /** The gateway's latest response; undefined until a response shows the task. */
  readonly envelope?: string;
  /** Number of consecutive failed polls. */
  readonly failures: number;
  /** Number of responses that report a success without a file. */
  readonly fileless?: number;
  /** Number of 404 responses since the last response with a task, and the time of the first. */
  readonly absent?: { readonly times: number; readonly since: number };
  /** Set when no more polls follow. */
  readonly end?: TaskEnd;
  /** The state that was reported before the watch was resumed. The same state is not reported again. */
  readonly reportedState?: EndState;
  /** Time of the next poll, or of the deletion of an ended task. */
  readonly nextAt: number;
};

/** The end of a watch. */
export type TaskEnd = {
  /** The refusal that clients receive. Absent if the task reached a final state. */
  readonly refusal?: FailedResponse;
  readonly at: number;
};

/** Details of a task that was created through this proxy. */
export type CreatedTask = {
  /** The task id that the client received. */
  readonly signedId: string;
  readonly model?: string | undefined;
  /** The `x-request-id` of the create request. */
  readonly requestId?: string | undefined;
};

/** Final state of a task, as handlers receive it. */
export type EndState = "succeeded" | "failed" | "expired" | "unknown";

/** The rules of a plugin's watches. */
export type WatchRules = {
  readonly intervalMs: number;
  /** Time for which an end is stored, in milliseconds. */
  readonly retentionMs: number;
};

/** Maximum pause before the first poll, in milliseconds, without jitter. */
const FIRST_PAUSE_MS = 5_000;
/** The pause between polls is at least 1/20 of the task's age, up to one minute. */
const PAUSES_PER_AGE = 20;
const MAX_AGE_PAUSE_MS = 60_000;
/** Maximum pause after failures, in milliseconds, unless `retry-after` is longer. */
const MAX_PAUSE_MS = 120_000;
/** Maximum duration of a watch, in milliseconds. Gateways forget a task after about the same time. */
const MAX_WATCH_MS = 24 * 60 * 60_000;
/** Maximum `retry-after` that is respected, in milliseconds. With jitter, the pause is less than 10 minutes. */
const MAX_RETRY_AFTER_MS = 8 * 60_000;
/** A task is absent after this number of polls with 404 over at least this time, in milliseconds. */
const ABSENT = { times: 5, ms: 5 * 60_000 };
/** Number of further polls after a success without a file. */
const MAX_FILELESS_POLLS = 3;
/** Time after which a client's query can resume a watch without a final state, in milliseconds. */
const RESUME_MS = 60_000;
/** A timer counts as lost if its poll is overdue by this time, in milliseconds. */
const LOST_TIMER_MS = 60 * 60_000;

export function createWatch(
  { id, userId }: Pick<WatchedTask, "id" | "userId">,
  now: number,
  { intervalMs, random }: Pick<WatchRules, "intervalMs"> & { readonly random: number },
  seen: Pick<WatchedTask, "created" | "envelope">,
): WatchedTask {
  // jitter: tasks that were created together are not polled together
  const nextAt = now + Math.ceil(Math.min(FIRST_PAUSE_MS, intervalMs) * (1 + 0.2 * random));
  return { id, userId, ...seen, startedAt: now, polls: 0, version: now, failures: 0, nextAt };
}

/**
 * Returns true if a client's query must poll the gateway: no response is known, the watch ended without a final state
 * at least a minute ago, or its timer was lost.
 */
export function isStale({ envelope, end, nextAt }: WatchedTask, now: number): boolean {
  if (end) return end.refusal !== undefined && now - end.at >= RESUME_MS;
  return envelope === undefined || now >= nextAt + LOST_TIMER_MS;
}

/** Continues a watch that ended without a final state. */
export function resumeWatch({ absent: _, end, ...task }: WatchedTask): WatchedTask {
  return { ...task, ...(end && { reportedState: getEndState(task, end) }), failures: 0 };
}

/** Applies the result of a poll, and sets the time of the next poll. A single failure does not end a watch. */
export function applyResult(
  task: WatchedTask,
  result: PollResult,
  rules: WatchRules & { readonly random: number },
  now: number,
): WatchedTask {
  const { absent, ...base } = { ...task, polls: task.polls + 1 };
  const isLate = now - task.startedAt >= MAX_WATCH_MS;
  if (result.type === "task") {
    const isNew = removeTraceIds(task.envelope) !== removeTraceIds(result.envelope);
    const update = isNew && { envelope: result.envelope, version: task.version + 1 };
    const known = { ...base, ...update, failures: 0 };
    const { fileless = 0 } = task;
    if (result.isFinal && !result.hasEnded && fileless < MAX_FILELESS_POLLS)
      return pauseWatch({ ...known, fileless: fileless + 1 }, 0);
    if (result.isFinal) return endWatch(known);
    return isLate ? endWatch(known, ENDED_WITHOUT_STATE.late) : pauseWatch(known, 0);
  }
  const isAbsent = result.type === "absent";
  const counted = isAbsent ? { times: (absent?.times ?? 0) + 1, since: absent?.since ?? now } : absent;
  const failed = { ...base, failures: task.failures + 1, ...(counted && { absent: counted }) };
  if (isAbsent && counted && counted.times >= ABSENT.times && now - counted.since >= ABSENT.ms)
    return endWatch(failed, ENDED_WITHOUT_STATE.absent);
  if (isLate) return endWatch(failed, ENDED_WITHOUT_STATE.late);
  return pauseWatch(failed, Math.min(result.retryAfterMs, MAX_RETRY_AFTER_MS));

  function endWatch(watch: WatchedTask, refusal?: FailedResponse): WatchedTask {
    const ended = { at: now, ...(refusal && { refusal }) };
    return { ...watch, end: ended, version: task.version + 1, nextAt: now + rules.retentionMs };
  }

  /** Sets the next poll. The pause grows with the age of the task and with failures, and respects `retry-after`. */
  function pauseWatch(watch: WatchedTask, retryAfterMs: number): WatchedTask {
    const { startedAt, failures } = watch;
    const pauseMs = Math.max(
      rules.intervalMs,
      Math.min((now - startedAt) / PAUSES_PER_AGE, MAX_AGE_PAUSE_MS),
    );
    const backoffMs = Math.min(pauseMs * 2 ** Math.max(0, failures - 1), MAX_PAUSE_MS);
    const nextAt = now + Math.ceil(Math.max(backoffMs, retryAfterMs) * (1 + 0.2 * rules.random));
    // a resumed watch may be older than `MAX_WATCH_MS`
    return { ...watch, nextAt: Math.max(now + rules.intervalMs, Math.min(nextAt, startedAt + MAX_WATCH_MS)) };
  }
}

/** Returns the final state of an ended task. */
export function getEndState({ envelope }: Pick<WatchedTask, "envelope">, { refusal }: TaskEnd): EndState {
  if (refusal) return refusal.error === ENDED_WITHOUT_STATE.absent.error ? "expired" : "unknown";
  return envelope !== undefined && isSucceeded(JSON.parse(envelope)) ? "succeeded" : "failed";
}

/** Returns true if the watch has ended; false if a resumed watch ended with the same state as before. */
export function isNewEnd({ end, reportedState, ...task }: WatchedTask): boolean {
  return end !== undefined && reportedState !== getEndState(task, end);
}
