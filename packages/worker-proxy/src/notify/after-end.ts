import type { EndedTask, EndHandler } from "../durable/video-watch.js";
import { logError } from "../report.js";

/** One thing to do after the end of a task: `webhook(…)`, `webPush(…)`, or one of your own. */
export interface FollowUp<Env = unknown> {
  /** Names it in storage and in the log. Never change it while tasks are watched. */
  readonly name: string;
  /**
   * Does it. What it throws is logged, and it is called again later: after 5 s, 1 min, 5 min, 30 min, 2, 5, 10 and 14
   * hours. It may be called again after it succeeded, where the object was lost in between: `ended.id` is the same then.
   */
  run(ended: EndedTask, env: Env): Promise<void>;
  /**
   * Takes back what `run` has begun, after the user has removed the task: `run` is not called any more. It is repeated
   * as `run` is. Not called where `run` never was. @default `run` goes on, and finds `ended.isRemoved`
   */
  withdraw?(ended: EndedTask, env: Env): Promise<void>;
}

/** Options of {@link afterEnd}. */
export type AfterEndOptions<Env> = readonly FollowUp<Env>[];

/** Progress of one follow-up. */
interface Progress {
  readonly tries: number;
  /** Unix milliseconds; undefined when it is done. */
  readonly nextAt?: number | undefined;
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
 * One that fails does not hold up the others.
 *
 * @example
 * ```ts
 * const hook = webhook<Env>({ url: (env) => env.WEBHOOK_URL, secret: (env) => env.WEBHOOK_SECRET });
 * export const VideoWatch = videoWatch<Env>({ ...gateway, onEnd: afterEnd([hook]) });
 * ```
 */
export function afterEnd<Env = unknown>(followUps: AfterEndOptions<Env>): EndHandler<Env> {
  return async (ended, { env, progress, save }) => {
    const all = { ...(progress as Record<string, Progress> | undefined) };
    const due = followUps.flatMap((followUp) => stepOf(followUp, ended, all) ?? []);
    for (const { name, run } of due) {
      const { tries, nextAt } = all[name] ?? { tries: 0, nextAt: ended.endedAt };
      if (nextAt === undefined || nextAt > Date.now()) continue;
      // saved first: a try that an eviction cut off counts, and the next one keeps its pause
      const pause = PAUSES_MS[tries];
      all[name] = { tries: tries + 1, nextAt: Date.now() + (pause ?? 0) };
      await save(all);
      const isDone = await succeeds(name, () => run(ended, env));
      if (isDone || pause === undefined) all[name] = { tries: tries + 1 };
      await save(all);
    }
    const open = due.flatMap(({ name }) => all[name]?.nextAt ?? []);
    return open.length > 0 ? Math.min(...open) : undefined;
  };
}

/** Returns the work that is left of a follow-up: of a removed task, to take it back where it was begun. */
function stepOf<Env>(
  { name, run, withdraw }: FollowUp<Env>,
  { isRemoved }: EndedTask,
  all: Readonly<Record<string, Progress>>,
): Pick<FollowUp<Env>, "name" | "run"> | undefined {
  if (!isRemoved || !withdraw) return { name, run };
  return all[name] && { name: `${name}: withdrawal`, run: withdraw };
}

async function succeeds(name: string, run: () => Promise<void>): Promise<boolean> {
  try {
    await run();
    return true;
  } catch (error) {
    logError(`${name}: ${error instanceof NoticeError ? error.message : "failed"}; it is tried again`);
    return false;
  }
}

/** A failure whose message is safe to log: it has no address, no secret and nothing of the receiver's. */
export class NoticeError extends Error {
  override readonly name = "NoticeError";
}
