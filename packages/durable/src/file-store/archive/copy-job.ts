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
/** Pause after the first attempt that fails; each further one is four times as long. */
const RETRY_MS = 30_000;
/** Pause of a copy that finds no space. It counts as no attempt: a result that is paid waits for as long as its link works. */
const SPACE_PAUSE_MS = 16 * RETRY_MS;
/** Longest time for which a copy waits for space: links of gateways end sooner. */
const MAX_WAIT_MS = 7 * DAY_MS;

/** Makes the job that copies the results of a user, one at a time, in the order in which they are due. */
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

  /** Ends a copy after an attempt that failed, or lets it wait for the next one. */
  async function fail(files: UserFiles, copy: CopyRow, ended: CopyEnd, refusal: Refusal, env: Env) {
    const { code, message, status } = describeRefusal(refusal);
    const { log } = store.server;
    // an error of the bucket, the database or an option has no address of a file
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

  /** Ends an attempt, and reports it unless another one decides. */
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

/** Returns true for a refusal that says nothing about the file: there is no space for it yet. */
function isNoSpace(refusal: Refusal): boolean {
  return ["storage_full", "too_many_files"].includes(describeRefusal(refusal).code);
}

/** Returns true for a refusal after which another attempt would end the same way. */
function isHopeless(refusal: Refusal): boolean {
  return [403, 413, 415].includes(describeRefusal(refusal).status);
}

/** The copy that an event is about. */
interface Subject {
  readonly id: string;
  readonly userId: string;
  readonly taskId: string | null;
}

/**
 * Reports the end of a copy or of an attempt. The log has no address, which may be signed, and the user's id as a hash.
 *
 * @param why the line in the log. @default none
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
