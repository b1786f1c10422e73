import { hashText, type Job, type JobContext, logError, Refusal } from "@sluice/worker-proxy/plugin";
import { ATTEMPT_MS } from "../files/options.js";
import { endAttempt } from "../files/removal.js";
import type { Store, UserFiles } from "../files/store.js";
import { COPY, DELETED_BY_OWNER, type FileRow, type UserInput } from "../files/tables.js";
import { beginCopy } from "./copies.js";
import { copyFile, MAX_ATTEMPTS } from "./copy-file.js";

/** Pause after the first failed attempt, in milliseconds. Each further pause is four times as long. */
const RETRY_MS = 30_000;
/**
 * Pause of a copy that finds no space, in milliseconds. It does not count as an attempt, so that a paid result can wait
 * while its link works.
 */
const SPACE_PAUSE_MS = 16 * RETRY_MS;
/** Maximum time that a copy waits for space, in milliseconds. Links of gateways expire sooner. */
const MAX_WAIT_MS = 7 * 86_400_000;

/** Creates the job that copies the results of a user, one at a time, in the order of their due times. */
export function createCopyJob<Env>(store: Store<Env>): Job<UserInput> {
  return { ...COPY, run };

  async function run(context: JobContext, { userId }: UserInput): Promise<void> {
    const env = context.env as Env;
    const files = await store.open(env, userId, context.host);
    const copy = await files.run(beginCopy, { claim: crypto.randomUUID(), claimMs: ATTEMPT_MS });
    if (!copy) return;
    try {
      const whole = await copyFile(store, files, copy, env);
      files.report(whole, { outcome: "complete", attempts: copy.attempts });
    } catch (error) {
      await handleFailure(files, copy, Refusal.from(error), env);
    }
  }

  /** Ends a copy after a failed attempt, or schedules the next attempt. A later attempt is not affected. */
  async function handleFailure(files: UserFiles, copy: FileRow, refusal: Refusal, env: Env): Promise<void> {
    const { code, message, status } = refusal;
    // errors of the bucket, the database and options contain no file URL, so log the cause
    if ([500, 503].includes(status) && refusal.cause !== undefined)
      await store.server.log("fileStore: a copy failed", refusal.cause, { env });
    const isFull = code === "storage_full" || code === "too_many_files";
    const isWaiting = isFull && Date.now() - copy.createdAt < MAX_WAIT_MS;
    const attempts = isWaiting ? copy.attempts - 1 : copy.attempts;
    // another attempt would repeat these refusals
    const isFinal = !isWaiting && ([403, 413, 415].includes(status) || attempts >= MAX_ATTEMPTS);
    const pauseMs = isWaiting ? SPACE_PAUSE_MS : RETRY_MS * 4 ** (attempts - 1);
    const { id, claim } = copy;
    const retry = { attempts, retryMs: isFinal ? null : pauseMs };
    const row = await files.run(endAttempt, { id, claim, copy: retry });
    // report first: if the process ends during the deletion, the sweep deletes the bytes
    if (!row || row.attempts === DELETED_BY_OWNER) files.report(copy, { outcome: "stopped" });
    else if (row.claim === claim) {
      const next = isWaiting ? "the copy waits for space" : "another attempt follows";
      await logCopy(files, copy, `${refusal.details.problem ?? message}; ${isFinal ? "dropped" : next}`);
      const event = isFinal
        ? ({ outcome: "error" } as const)
        : ({ outcome: "retrying", nextAt: Date.now() + pauseMs } as const);
      files.report(copy, { ...event, code, attempts });
    }
    await files.remove(row).catch(() => {});
  }
}

/** Logs the end of a copy or of an attempt, without the URL, which may be signed, and with the user's id as a hash. */
export async function logCopy(
  { userId }: UserInput,
  { id, taskId }: Pick<FileRow, "id" | "taskId">,
  reason: string,
): Promise<void> {
  const names = [taskId && `task ${taskId}`, `copy ${id}`, `user ${await hashText(`media\n${userId}`)}`];
  logError(`archive: ${reason}: ${names.filter(Boolean).join(", ")}`);
}
