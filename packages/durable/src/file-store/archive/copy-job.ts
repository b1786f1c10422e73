import type { Job, JobContext } from "@sluice/worker-proxy";
import { describeRefusal, logCause, type Refusal, toRefusal } from "@sluice/worker-proxy/plugin";
import { COPY_MS, MARGIN_MS } from "../files/options.js";
import { readErasedAt } from "../files/readings.js";
import type { Store, UserFiles } from "../files/store.js";
import { COPY, type CopyRow, type UserInput } from "../files/tables.js";
import { beginCopy, endCopy } from "./copies.js";
import { copyFile, MAX_ATTEMPTS } from "./copy-file.js";
import { reportCopy } from "./report.js";

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
    const attempt = crypto.randomUUID();
    const erasedAt = await files.run(readErasedAt, null);
    const copy = await files.run(beginCopy, { run: attempt, userId, ms: COPY_MS + MARGIN_MS });
    if (!copy) return;
    const { attempts } = copy;
    const rememberMs = Math.max(store.settings.archive?.retentionMs ?? 0, DAY_MS);
    const ended = { run: attempt, userId, source: copy.source, attempts };
    try {
      const file = await copyFile(store, files, copy, erasedAt, env as Env);
      if ((await files.run(endCopy, { ...ended, retryMs: null, rememberMs })) === "overtaken") return;
      const event = file ? ({ outcome: "complete", bytes: file.bytes, attempts } as const) : STOPPED;
      await reportCopy(store, env as Env, { ...copy, userId }, event);
    } catch (error) {
      await fail(files, copy, ended, toRefusal(error), env as Env);
    }
  }

  /** Ends a copy after an attempt that failed, or lets it wait for the next one. */
  async function fail(
    files: UserFiles,
    copy: CopyRow,
    ended: { readonly run: string; readonly userId: string; readonly source: string },
    refusal: Refusal,
    env: Env,
  ): Promise<void> {
    const { code, message, status } = describeRefusal(refusal);
    const { log } = store.server;
    // an error of the bucket, the database or an option has no address of a file
    if ([500, 503].includes(status) && refusal.cause !== undefined)
      await logCause("fileStore: a copy failed", refusal.cause, { env, log });
    const isWaiting = isNoSpace(refusal) && Date.now() - copy.notedAt < MAX_WAIT_MS;
    const attempts = isWaiting ? copy.attempts - 1 : copy.attempts;
    const isOver = !isWaiting && (isHopeless(refusal) || attempts >= MAX_ATTEMPTS);
    const retryMs = isWaiting ? SPACE_PAUSE_MS : RETRY_MS * 4 ** (attempts - 1);
    const end = { ...ended, attempts, retryMs: isOver ? null : retryMs, rememberMs: DAY_MS };
    const subject = { ...copy, userId: ended.userId };
    const ending = await files.run(endCopy, end);
    if (ending === "overtaken") return;
    if (ending === "dropped") return await reportCopy(store, env, subject, STOPPED);
    const why = refusal.details.problem ?? message;
    if (isOver)
      return await reportCopy(store, env, subject, { outcome: "failed", code, attempts }, `${why}; dropped`);
    const what = isWaiting ? "the copy waits for space" : "another attempt follows";
    const event = { outcome: "waiting", code, attempts, nextAt: Date.now() + retryMs } as const;
    await reportCopy(store, env, subject, event, `${why}; ${what}`);
  }
}

const STOPPED = { outcome: "stopped" } as const;

/** Returns true for a refusal that says nothing about the file: there is no space for it yet. */
function isNoSpace(refusal: Refusal): boolean {
  return ["storage_full", "too_many_files"].includes(describeRefusal(refusal).code);
}

/** Returns true for a refusal after which another attempt would end the same way. */
function isHopeless(refusal: Refusal): boolean {
  return [403, 413, 415].includes(describeRefusal(refusal).status);
}
