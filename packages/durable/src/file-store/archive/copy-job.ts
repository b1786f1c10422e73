import type { Job, JobContext, JobEvent } from "@sluice/worker-proxy";
import {
  describeRefusal,
  hashText,
  logCause,
  logError,
  type Refusal,
  toRefusal,
} from "@sluice/worker-proxy/plugin";
import { COPY_MS, MARGIN_MS } from "../files/options.js";
import type { Store, UserFiles } from "../files/store.js";
import { COPY, type CopyRow, type UserInput } from "../files/tables.js";
import { beginCopy, type CopyEnd, endCopy } from "./copies.js";
import { copyFile, MAX_ATTEMPTS } from "./copy-file.js";

const DAY_MS = 86_400_000;
/** Pause after the first failed attempt, in milliseconds. Each further pause is four times as long. */
const RETRY_MS = 30_000;
/**
 * Pause of a copy that finds no space, in milliseconds. It does not count as an attempt, so that a paid result can wait
 * while its link works.
 */
const SPACE_PAUSE_MS = 16 * RETRY_MS;
/** Maximum time that a copy waits for space, in milliseconds. Links of gateways expire sooner. */
const MAX_WAIT_MS = 7 * DAY_MS;

/** Creates the job that copies the results of a user, one at a time, in the order of their due times. */
export function createCopyJob<Env>(store: Store<Env>): Job<UserInput> {
  return { ...COPY, run };

  async function run({ host, env }: JobContext, { userId }: UserInput): Promise<void> {
    const files = await store.open(env as Env, userId, host);
    const copy = await files.run(beginCopy, { userId, ms: COPY_MS + MARGIN_MS });
    if (!copy) return;
    const { attempts } = copy;
    const rememberMs = Math.max(store.settings.archive?.retentionMs ?? 0, DAY_MS);
    const end = { userId, source: copy.source, attempt: attempts, attempts, retryMs: null, rememberMs };
    try {
      const { bytes } = await copyFile(store, files, copy, env as Env);
      await report(files, copy, end, env as Env, { outcome: "complete", bytes, attempts });
    } catch (error) {
      await fail(files, copy, end, toRefusal(error), env as Env);
    }
  }

  /** Ends a copy after a failed attempt, or schedules the next attempt. */
  async function fail(files: UserFiles, copy: CopyRow, ended: CopyEnd, refusal: Refusal, env: Env) {
    const { code, message, status } = describeRefusal(refusal);
    const { log } = store.server;
    // errors of the bucket, the database and options contain no file URL, so log the cause
    if ([500, 503].includes(status) && refusal.cause !== undefined)
      await logCause("fileStore: a copy failed", refusal.cause, { env, log });
    const isWaiting = isNoSpace(refusal) && Date.now() - copy.notedAt < MAX_WAIT_MS;
    const attempts = isWaiting ? ended.attempt - 1 : ended.attempt;
    const isOver = !isWaiting && (isHopeless(refusal) || attempts >= MAX_ATTEMPTS);
    const retryMs = isWaiting ? SPACE_PAUSE_MS : RETRY_MS * 4 ** (attempts - 1);
    const end = { ...ended, attempts, retryMs: isOver ? null : retryMs, rememberMs: DAY_MS };
    const why = refusal.details.problem ?? message;
    if (isOver)
      return await report(files, copy, end, env, { outcome: "failed", code, attempts }, `${why}; dropped`);
    const what = isWaiting ? "the copy waits for space" : "another attempt follows";
    const event = { outcome: "waiting", code, attempts, nextAt: Date.now() + retryMs } as const;
    await report(files, copy, end, env, event, `${why}; ${what}`);
  }

  /** Ends an attempt and reports it, unless a later attempt has replaced it. */
  async function report(
    files: UserFiles,
    copy: CopyRow,
    end: CopyEnd,
    env: Env,
    event: Parameters<typeof reportCopy>[3],
    why?: string,
  ): Promise<void> {
    const ending = await files.run(endCopy, end);
    const subject = { ...copy, userId: end.userId };
    if (ending === "dropped") return await reportCopy(store, env, subject, { outcome: "stopped" });
    if (ending === "ended") await reportCopy(store, env, subject, event, why);
  }
}

/** Returns true for a refusal because of missing space, which is unrelated to the file itself. */
function isNoSpace(refusal: Refusal): boolean {
  return ["storage_full", "too_many_files"].includes(describeRefusal(refusal).code);
}

/** Returns true for a refusal that another attempt would repeat. */
function isHopeless(refusal: Refusal): boolean {
  return [403, 413, 415].includes(describeRefusal(refusal).status);
}

/** The copy that an event reports. */
interface Subject {
  readonly id: string;
  readonly userId: string;
  readonly taskId: string | null;
}

/**
 * Reports the end of a copy or of an attempt. The log omits the URL, which may be signed, and contains the user's id as
 * a hash.
 *
 * @param why message for the log @default none
 */
export async function reportCopy<Env>(
  store: Store<Env>,
  env: Env,
  { id, userId, taskId }: Subject,
  event: Pick<JobEvent, "outcome" | "code" | "attempts" | "nextAt" | "bytes">,
  why?: string,
): Promise<void> {
  if (why !== undefined) {
    const names = [taskId && `task ${taskId}`, `copy ${id}`, `user ${await hashText(`media\n${userId}`)}`];
    logError(`archive: ${why}: ${names.filter(Boolean).join(", ")}`);
  }
  store.server.report({ kind: "copy", id, user: userId, taskId: taskId ?? undefined, ...event }, env);
}
