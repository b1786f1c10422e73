import { ended, type TaskAnswer } from "./gateway.js";

/** What a watch keeps in its storage: all that it needs to go on after it was evicted. */
export interface WatchedTask {
  /** The gateway's own. */
  readonly id: string;
  readonly startedAt: number;
  /** When somebody last listened. */
  readonly heardAt: number;
  /** When it was last asked about; 0 before the first time. */
  readonly askedAt: number;
  /** The number of the newest event. Begins with the time, so that a later watch of the task never repeats one. */
  readonly seq: number;
  /** What the newest event said; undefined before the gateway knew the task. */
  readonly envelope?: string;
  /** How many answers there were; they come further apart with time. */
  readonly answers: number;
  /** How many in a row brought none. */
  readonly failures: number;
  /** How many of those were unreadable. */
  readonly unreadable: number;
  /** Set when nobody will be asked again; `error` where there is no final state. */
  readonly end?: { readonly error?: string };
  /** When the alarm rings: to ask again, or to forget. */
  readonly nextAt: number;
}

/** The shortest pause between two questions, and the one after the first answer. */
export const FIRST_PAUSE_MS = 5_000;
const PAUSE_MS = 15_000;
/** The pause while nobody listens, and after how long without a listener it begins. */
const UNHEARD_PAUSE_MS = 60_000;
const UNHEARD_AFTER_MS = 5 * 60_000;
/** So long a watch goes on without a listener. */
export const ABANDONED_AFTER_MS = 60 * 60_000;
/** The longest pause that failures alone lead to. */
const LONGEST_PAUSE_MS = 120_000;
/** Gateways forget a task after about as long. */
const LONGEST_WATCH_MS = 24 * 60 * 60_000;
/** How long after the start the gateway may not know the task yet. */
const GRACE_MS = 30_000;
const UNREADABLE_IN_A_ROW = 3;
/** How long an end is kept for who comes late; an error not as long, since it may have been mended. */
const KEPT_MS = 10 * 60_000;
const ERROR_KEPT_MS = 60_000;

export function newTask(id: string, now: number): WatchedTask {
  return {
    id,
    startedAt: now,
    heardAt: now,
    askedAt: 0,
    seq: now,
    answers: 0,
    failures: 0,
    unreadable: 0,
    nextAt: now,
  };
}

/** What is known after another answer, and when to ask again. `random` in [0, 1). */
export function afterAnswer(task: WatchedTask, answer: TaskAnswer, now: number, random: number): WatchedTask {
  const asked = { ...task, askedAt: now };
  const late = now - task.startedAt >= LONGEST_WATCH_MS;
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
    if (answer.isFinal) return over(known, {});
    return late ? over(known, { error: ended.late }) : paused(known, 0, random);
  }
  const failed = {
    ...asked,
    failures: task.failures + 1,
    unreadable: task.unreadable + (answer.type === "unreadable" ? 1 : 0),
  };
  if (answer.type === "refused") return over(failed, { error: answer.error });
  const isNew = task.envelope === undefined && now - task.startedAt < GRACE_MS;
  if (answer.type === "absent" && !isNew) return over(failed, { error: ended.absent });
  if (failed.unreadable > UNREADABLE_IN_A_ROW) return over(failed, { error: ended.unreadable });
  if (late) return over(failed, { error: ended.late });
  return paused(failed, answer.type === "passing" ? answer.retryAfterMs : 0, random);
}

function over(task: WatchedTask, end: { readonly error?: string }): WatchedTask {
  return { ...task, end, nextAt: task.askedAt + (end.error === undefined ? KEPT_MS : ERROR_KEPT_MS) };
}

/** Sets the next question: slowly further apart, far apart where nobody listens, and never before the gateway allows. */
function paused(task: WatchedTask, retryAfterMs: number, random: number): WatchedTask {
  const { askedAt, heardAt, answers, failures, startedAt } = task;
  const isHeard = askedAt - heardAt < UNHEARD_AFTER_MS;
  const usual = isHeard
    ? Math.min(PAUSE_MS, FIRST_PAUSE_MS * 1.5 ** Math.max(0, answers - 1))
    : UNHEARD_PAUSE_MS;
  const grown = Math.min(usual * 2 ** Math.max(0, failures - 1), LONGEST_PAUSE_MS);
  const jittered = Math.max(grown, retryAfterMs / 0.9) * (0.9 + 0.2 * random);
  return { ...task, nextAt: Math.min(askedAt + Math.ceil(jittered), startedAt + LONGEST_WATCH_MS) };
}

/** What an envelope shows: without trace ids, which change with each answer. */
function faceOf(envelope: string | undefined): string | undefined {
  return (
    envelope &&
    JSON.stringify(JSON.parse(envelope), (key, value) =>
      /^(?:request|trace)_?id$/i.test(key) ? undefined : value,
    )
  );
}
