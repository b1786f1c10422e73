import type { JobEvent } from "@sluice/worker-proxy";
import { logError } from "@sluice/worker-proxy/internal";
import type { EndedTask, EndHandler, EndProgress } from "../video-watch/end.js";

/** An end that users are told of: of a video task, or of a job of another extension. */
export type Ended = EndedTask | EndedJob;

/** The end of a job of another extension. */
export interface EndedJob {
  /** Id of this end, the same in each attempt to tell of it: 32 hex digits. */
  readonly id: string;
  /** The id that `authenticate` returned. */
  readonly userId: string;
  readonly model?: string | undefined;
  /** Unix milliseconds. */
  readonly endedAt: number;
  /** The `x-request-id` of the request that began the job. */
  readonly requestId?: string | undefined;
  /** The event that a `webhook` sends. */
  readonly event: { readonly type: string; readonly data: Readonly<Record<string, unknown>> };
}

/** One thing to do after an end: `webhook(…)`, or one of your own. */
export interface FollowUp<Env = unknown, Of extends Ended = EndedTask> {
  /** Names it in storage and in the log. Never change it while tasks are watched. */
  readonly name: string;
  /** Kind of its events, which `onEvent` of the watch gets. @default none: its failures are in the log alone */
  readonly kind?: JobEvent["kind"];
  /**
   * Does it. What it throws is logged, and it is called again later: after 5 s, 1 min, 5 min, 30 min, 2, 5, 10 and 14
   * hours. It may be called again after it succeeded, where the object was lost in between: `ended.id` is the same then.
   *
   * @returns the status of the receiver, for the event `complete`; nothing where the end is reported from elsewhere
   */
  run(ended: Of, env: Env): Promise<Reached | undefined> | Promise<void>;
}

/** The receiver's answer to a follow-up that succeeded. */
export interface Reached {
  readonly upstreamStatus: number;
}

/** Options of {@link afterEnd}. */
export type AfterEndOptions<Env, Of extends Ended = EndedTask> = readonly FollowUp<Env, Of>[];

/** Progress of one follow-up. */
interface Progress {
  readonly tries: number;
  /** Unix milliseconds; undefined when it is done. */
  readonly nextAt?: number | undefined;
  /** Present after it was given up; `due` until its dead letter is kept. */
  readonly letter?: "due" | "kept";
  /** The receiver's last status. */
  readonly status?: number | undefined;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Pauses between two tries. */
const PAUSES_MS = [
  5 * SECOND,
  MINUTE,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
] as const;

/**
 * Makes the `onEnd` of a `videoWatch`: each follow-up is tried until it succeeds, for 32 hours, by the object's alarm.
 * One that fails does not hold up the others. One that is given up becomes a dead letter, where the watch has its `namespace`.
 *
 * @example
 * ```ts
 * const hook = webhook<Env>({ url: (env) => env.WEBHOOK_URL, secret: (env) => env.WEBHOOK_SECRET });
 * export const VideoWatch = videoWatch<Env>({ ...gateway, onEnd: afterEnd([hook]) });
 * ```
 */
export function afterEnd<Env = unknown, Of extends Ended = EndedTask>(
  followUps: AfterEndOptions<Env, Of>,
): EndHandler<Env, Of> {
  return async (ended, state) => {
    const all = { ...(state.progress as Record<string, Progress> | undefined) };
    for (const name of state.again) if (all[name]?.letter) all[name] = { tries: 0, nextAt: Date.now() };
    for (const followUp of followUps) await advance(followUp, ended, { ...state, all });
    const open = followUps.flatMap(({ name }) => all[name]?.nextAt ?? []);
    return open.length > 0 ? Math.min(...open) : undefined;
  };
}

type Advancing<Env> = EndProgress<Env> & { readonly all: Record<string, Progress> };

/** Tries a follow-up whose time has come, and keeps its letter where it is given up. */
async function advance<Env, Of extends Ended>(
  followUp: FollowUp<Env, Of>,
  ended: Of,
  state: Advancing<Env>,
): Promise<void> {
  const { all } = state;
  const { name } = followUp;
  const { tries, nextAt, letter } = all[name] ?? { tries: 0, nextAt: ended.endedAt };
  if (nextAt === undefined || nextAt > Date.now()) return;
  if (letter !== "due") await attempt(followUp, tries, ended, state);
  if (all[name]?.letter === "due") await giveUp(name, ended, state);
}

async function attempt<Env, Of extends Ended>(
  followUp: FollowUp<Env, Of>,
  before: number,
  ended: Of,
  { env, all, save, report }: Advancing<Env>,
): Promise<void> {
  const { name, kind } = followUp;
  const pause = PAUSES_MS[before];
  const tries = before + 1;
  // saved first: a try that an eviction cut off counts, and the next one keeps its pause
  all[name] = { tries, nextAt: Date.now() + (pause ?? 0) };
  await save(all);
  const result = await resultOf(() => followUp.run(ended, env));
  const { failure, upstreamStatus } = result;
  const isOver = pause === undefined || failure?.isRefusal === true;
  const nextAt = Date.now() + (pause ?? 0);
  if (!failure) all[name] = { tries };
  else if (isOver) all[name] = { tries, letter: "due", nextAt: Date.now(), status: upstreamStatus };
  else all[name] = { tries, nextAt };
  const isErased = !(await save(all));
  if (isErased) all[name] = { tries };
  const failed = failure && outcomeOf(failure, { isErased, isOver });
  const outcome = failed ?? "complete";
  if (failed) {
    const next = failed === "waiting" ? `try ${tries} of ${PAUSES_MS.length + 1}` : GIVEN_UP[failed];
    logError(`${name}: ${failure.message}; ${next}${idsOf(ended)}`);
  }
  // a follow-up that hands its work over reports no success: its end comes later
  if (kind && (failure || upstreamStatus !== undefined))
    report({
      kind,
      id: ended.id,
      outcome,
      ...factsOf(ended),
      attempts: tries,
      upstreamStatus,
      ...(outcome === "dropped" && { code: "user_erased" }),
      ...(outcome === "waiting" ? { nextAt } : { durationMs: Date.now() - ended.endedAt }),
    });
}

/** Words of the log for a notice that is not tried again. */
const GIVEN_UP = {
  refused: "it is given up",
  failed: "it is given up",
  dropped: "its user was erased meanwhile",
} as const;

interface Failure {
  readonly message: string;
  readonly isRefusal: boolean;
}

function outcomeOf({ isRefusal }: Failure, { isErased, isOver }: Record<"isErased" | "isOver", boolean>) {
  if (isErased) return "dropped";
  if (!isOver) return "waiting";
  return isRefusal ? "refused" : "failed";
}

interface Result {
  readonly failure?: Failure;
  readonly upstreamStatus?: number | undefined;
}

async function resultOf(run: () => ReturnType<FollowUp["run"]>): Promise<Result> {
  try {
    const reached = await run();
    return reached ? { upstreamStatus: reached.upstreamStatus } : {};
  } catch (error) {
    if (!(error instanceof NoticeError)) return { failure: { message: "failed", isRefusal: false } };
    const { message, upstreamStatus, isRefusal } = error;
    return { failure: { message, isRefusal }, upstreamStatus };
  }
}

/** Keeps the letter of a notice that is given up. It is tried each minute, since nothing else remembers the notice. */
async function giveUp<Env>(name: string, ended: Ended, state: Advancing<Env>): Promise<void> {
  const { all, save } = state;
  const { tries = 0, status } = all[name] ?? {};
  try {
    await state.giveUp({ name, attempts: tries, upstreamStatus: status });
    all[name] = { tries, letter: "kept" };
  } catch {
    all[name] = { tries, letter: "due", nextAt: Date.now() + MINUTE, status };
    logError(`${name}: its dead letter could not be kept; that is tried again${idsOf(ended)}`);
  }
  await save(all);
}

/** Returns the facts by which an event names an end. */
function factsOf(ended: Ended): Pick<JobEvent, "user" | "taskId" | "model" | "requestId"> {
  const { userId, model, requestId } = ended;
  const taskId = "gatewayId" in ended ? ended.gatewayId : undefined;
  return { user: userId, ...(taskId !== undefined && { taskId }), model, requestId };
}

/** Names a notice in the log, without its user: " (notice 1f…, task t-1, request r-1)". */
function idsOf(ended: Ended): string {
  const { taskId, requestId } = factsOf(ended);
  const ids = { notice: ended.id, task: taskId, request: requestId };
  const named = Object.entries(ids).flatMap(([name, value]) => (value ? `${name} ${value}` : []));
  return ` (${named.join(", ")})`;
}

/** Facts of a failed attempt. */
export interface NoticeFailure {
  /** The receiver's status; absent where it did not answer. */
  readonly upstreamStatus?: number;
  /** True where the receiver wants no further attempt. @default false */
  readonly isRefusal?: boolean;
}

/** A failure whose message is safe to log: it has no address, no secret and nothing of the receiver's. */
export class NoticeError extends Error {
  override readonly name = "NoticeError";
  readonly upstreamStatus: number | undefined;
  readonly isRefusal: boolean;

  constructor(message: string, { upstreamStatus, isRefusal = false }: NoticeFailure = {}) {
    super(message);
    this.upstreamStatus = upstreamStatus;
    this.isRefusal = isRefusal;
  }
}
