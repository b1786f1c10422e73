import {
  ENDED_WITHOUT_STATE,
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
  /** Absent if the watch began with a page that asked for the task. */
  readonly created?: CreatedTask;
  /** True after the user has removed the task: its webhook says so. */
  readonly isRemoved?: boolean;
  readonly startedAt: number;
  /** Number of polls. */
  readonly polls: number;
  /** Id of the poll whose response was stored last. */
  readonly polled?: string;
  /** Number of changes that readers can see. It begins with the time, so that a later watch of the task repeats none. */
  readonly version: number;
  /** The gateway's newest response; undefined until one has shown the task. */
  readonly envelope?: string;
  /** Number of failed polls in a row. */
  readonly failures: number;
  /** Number of responses with a success that has no file yet. */
  readonly fileless?: number;
  /** The polls since the last response that the gateway refused with 404. */
  readonly absent?: { readonly times: number; readonly since: number };
  /** Set when no more polls follow. */
  readonly end?: TaskEnd;
  /** The state that was reported before the watch was resumed. The same state is not reported again. */
  readonly told?: EndState;
  /** Time of the next poll, or of the deletion of an ended task. */
  readonly nextAt: number;
};

/** The end of a watch. */
export type TaskEnd = {
  /** The refusal that pages get; absent if the task reached a final state. */
  readonly refusal?: FailedResponse;
  readonly at: number;
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

/** The rules of a plugin's watches. */
export type WatchRules = {
  readonly intervalMs: number;
  /** Time for which an end is stored. */
  readonly retentionMs: number;
};

/** Longest pause before the first poll. */
const FIRST_PAUSE_MS = 5_000;
/** Part of a task's age by which its polls are apart, and the longest such pause. */
const AGE_PART = 20;
const OLD_PAUSE_MS = 60_000;
/** Longest pause after failures alone. */
const MAX_PAUSE_MS = 120_000;
/** Gateways forget a task after about as long. */
const MAX_WATCH_MS = 24 * 60 * 60_000;
/** Longest pause that the gateway can ask for. With its jitter it is less than 10 minutes. */
const MAX_RETRY_AFTER_MS = 8 * 60_000;
/** Number of polls with 404 that make a task absent, and the time over which they come. */
const ABSENT = { times: 5, ms: 5 * 60_000 };
/** Number of further polls after a success without a file. */
const RESULT_POLLS = 3;
/** Time for which an end without a final state is not questioned again. */
const RESUME_MS = 60_000;
/** Time after which a poll that was due is lost with its timer. */
const LOST_MS = 60 * 60_000;

/** Creates the watch of a task. */
export function createWatch(
  { id, userId }: Pick<WatchedTask, "id" | "userId">,
  now: number,
  { intervalMs, random }: Pick<WatchRules, "intervalMs"> & { readonly random: number },
  seen: Pick<WatchedTask, "created" | "envelope">,
): WatchedTask {
  // spread: tasks that were created in one moment are not polled in one
  const nextAt = now + Math.ceil(Math.min(FIRST_PAUSE_MS, intervalMs) * (1 + 0.2 * random));
  return { id, userId, ...seen, startedAt: now, polls: 0, version: now, failures: 0, nextAt };
}

/** Returns true for a task that a page has to query: nothing is known of it, or its watch has stopped without an end. */
export function isStale({ envelope, end, nextAt }: WatchedTask, now: number): boolean {
  if (end) return end.refusal !== undefined && now - end.at >= RESUME_MS;
  return envelope === undefined || now >= nextAt + LOST_MS;
}

/** Continues a watch that ended without a final state. */
export function resume({ absent: _, end, ...task }: WatchedTask): WatchedTask {
  return { ...task, ...(end && { told: getEndState(task, end) }), failures: 0 };
}

/** Returns the watch after the result of another poll, with the time of the next one. No single failure ends a watch. */
export function applyResult(
  task: WatchedTask,
  result: PollResult,
  rules: WatchRules & { readonly random: number },
  now: number,
): WatchedTask {
  const { absent, ...polled } = { ...task, polls: task.polls + 1 };
  const isLate = now - task.startedAt >= MAX_WATCH_MS;
  if (result.type === "task") {
    const isNew = removeTraceIds(task.envelope) !== removeTraceIds(result.envelope);
    const update = isNew && { envelope: result.envelope, version: task.version + 1 };
    const known = { ...polled, ...update, failures: 0 };
    const { fileless = 0 } = task;
    if (result.isFinal && !result.hasEnded && fileless < RESULT_POLLS)
      return pause({ ...known, fileless: fileless + 1 }, 0);
    if (result.isFinal) return end(known);
    return isLate ? end(known, ENDED_WITHOUT_STATE.late) : pause(known, 0);
  }
  const isAbsent = result.type === "absent";
  const counted = isAbsent ? { times: (absent?.times ?? 0) + 1, since: absent?.since ?? now } : absent;
  const failed = { ...polled, failures: task.failures + 1, ...(counted && { absent: counted }) };
  if (isAbsent && counted && counted.times >= ABSENT.times && now - counted.since >= ABSENT.ms)
    return end(failed, ENDED_WITHOUT_STATE.absent);
  if (isLate) return end(failed, ENDED_WITHOUT_STATE.late);
  return pause(failed, Math.min(result.retryAfterMs, MAX_RETRY_AFTER_MS));

  function end(watch: WatchedTask, refusal?: FailedResponse): WatchedTask {
    const ended = { at: now, ...(refusal && { refusal }) };
    return { ...watch, end: ended, version: task.version + 1, nextAt: now + rules.retentionMs };
  }

  /** Sets the next poll: further apart with the age of the task, and never before the gateway allows it. */
  function pause(watch: WatchedTask, retryAfterMs: number): WatchedTask {
    const { startedAt, failures } = watch;
    const usual = Math.max(rules.intervalMs, Math.min((now - startedAt) / AGE_PART, OLD_PAUSE_MS));
    const longer = Math.min(usual * 2 ** Math.max(0, failures - 1), MAX_PAUSE_MS);
    const nextAt = now + Math.ceil(Math.max(longer, retryAfterMs) * (1 + 0.2 * rules.random));
    // a resumed watch may be older than any
    return { ...watch, nextAt: Math.max(now + rules.intervalMs, Math.min(nextAt, startedAt + MAX_WATCH_MS)) };
  }
}

/** Returns the state in which a task has ended. */
export function getEndState({ envelope }: Pick<WatchedTask, "envelope">, { refusal }: TaskEnd): EndState {
  if (refusal) return refusal.error === ENDED_WITHOUT_STATE.absent.error ? "expired" : "unknown";
  return envelope !== undefined && isSucceeded(JSON.parse(envelope)) ? "succeeded" : "failed";
}

/** Returns false for the end of a watch that was resumed and has ended as before. */
export function isNewEnd({ end, told, ...task }: WatchedTask): boolean {
  return end !== undefined && told !== getEndState(task, end);
}
