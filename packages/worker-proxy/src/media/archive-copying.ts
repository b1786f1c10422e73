import { hashOf, type ObjectState } from "../durable/platform.js";
import { readBinding, refusalIn } from "../refusal.js";
import { textOf } from "../refusals.js";
import { logError } from "../report.js";
import { type CopyRow, copyFile, isHopeless, isNoSpace, MOST_ATTEMPTS } from "./archive-copy.js";
import type { CopyJob } from "./file-rows.js";
import { firstTime } from "./index-tables.js";
import type { DroppedCopy, MediaSettings } from "./options.js";
import { openSpace } from "./space.js";

/** The shortest time for which a job is remembered: gateways know a task for about as long. */
const DAY_MS = 86_400_000;

/** Most jobs that one alarm forgets. */
const BATCH = 500;
/** Pause of a copy that finds no space, in pauses of `retryMs`: 8 minutes by default. */
const SPACE_PAUSES = 16;

/** Opens the copying of one user's files, by the alarm of the user's object. It does nothing without `archive`. */
export function openCopying<Env>({ storage }: ObjectState, settings: MediaSettings<Env>, env: Env) {
  const { sql } = storage;
  const { archive, userFiles } = settings;
  return { add, drop, run, nextAt };

  /** Adds jobs whose source is not known yet, as long as fewer are open than a user may have files. */
  async function add(jobs: readonly CopyJob[]): Promise<void> {
    const dropped = jobs.filter((job) => !isAdded(job));
    for (const job of dropped) await reportDrop(job, "too_many_copies", `${userFiles} copies are waiting`);
  }

  function isAdded({ source, id, userId, url, taskId }: CopyJob): boolean {
    const [known] = sql.exec("SELECT isOver, url FROM copies WHERE source = ?", source).toArray();
    // one that waits is fetched from its newest address: the gateway signs them anew
    if (known?.["isOver"] === 0 && known["url"] !== "" && known["url"] !== url)
      sql.exec("UPDATE copies SET url = ? WHERE source = ?", url, source);
    if (known) return true;
    const [sums] = sql.exec("SELECT jobs FROM sums").toArray();
    if (Number(sums?.["jobs"]) >= userFiles) return false;
    sql.exec(
      `INSERT INTO copies (source, id, userId, url, taskId, attempts, nextAt, isOver, isPaid)
        VALUES (?, ?, ?, ?, ?, 0, ?, 0, 0)`,
      source,
      id,
      userId,
      url,
      taskId ?? null,
      Date.now(),
    );
    return true;
  }

  /** Says that a file which was paid for is not copied. The log has no id of a user, and no address: it may be signed. */
  async function reportDrop(
    { id, userId, taskId }: CopyJob,
    reason: DroppedCopy["reason"],
    why: string,
  ): Promise<void> {
    const names = [taskId && `task ${taskId}`, `copy ${id}`, `user ${await hashOf(`media\n${userId}`)}`];
    logError(`archive: ${why}; dropped: ${names.filter(Boolean).join(", ")}`);
    try {
      await archive?.onDrop?.({ userId, id, taskId: taskId ?? undefined, reason }, env);
    } catch {
      logError("mediaStore: archive: onDrop failed");
    }
  }

  /** Gives up the copy that its owner has deleted. An attempt that is under way deletes what it stores, or the next one. */
  function drop(id: string): void {
    sql.exec("UPDATE copies SET url = '' WHERE id = ?", id);
  }

  /** Makes one attempt at one job that is due. Never throws. */
  async function run(now: number): Promise<void> {
    sql.exec(
      "DELETE FROM copies WHERE source IN (SELECT source FROM copies WHERE isOver = 1 AND nextAt <= ? LIMIT ?)",
      now,
      BATCH,
    );
    const due = "SELECT * FROM copies WHERE isOver = 0 AND nextAt <= ? ORDER BY nextAt LIMIT 1";
    const [found] = sql.exec(due, now).toArray() as unknown as CopyRow[];
    if (!found || !archive) return;
    const job = { ...found, attempts: found.attempts + 1 };
    // noted first: an object may be moved or lost in the middle of a copy
    wait(job, now + archive.copyMs);
    try {
      await copyFile(job, {
        env,
        bucket: await readBinding("mediaStore: bucket", settings.bucket, env),
        space: openSpace(await readBinding("mediaStore: index", settings.index, env), settings),
        settings,
        archive,
        notePaid: (isPaid) =>
          void sql.exec("UPDATE copies SET isPaid = ? WHERE source = ?", isPaid ? 1 : 0, job.source),
      });
      end(job, Date.now() + Math.max(archive.keepMs, DAY_MS));
    } catch (error) {
      if (isNoSpace(error)) return waitForSpace(job, error);
      const isOver = isHopeless(error) || job.attempts >= MOST_ATTEMPTS;
      const refusal = refusalIn(error);
      const why = refusal.details.problem ?? textOf(refusal).message;
      if (isOver) {
        end(job, Date.now() + DAY_MS);
        await reportDrop(job, textOf(refusal).code, why);
      } else {
        wait(job, Date.now() + archive.retryMs * 4 ** (job.attempts - 1));
        logError(`archive: ${why}; another attempt follows`);
      }
    }
  }

  /** An attempt that finds no space is none: what is paid waits for as long as its link works. */
  function waitForSpace(job: CopyRow, error: unknown): void {
    const refusal = refusalIn(error);
    logError(`archive: ${refusal.details.problem ?? textOf(refusal).message}; the copy waits for space`);
    const at = Date.now() + (archive?.retryMs ?? 0) * SPACE_PAUSES;
    wait({ ...job, attempts: job.attempts - 1 }, at);
  }

  function wait({ source, attempts }: CopyRow, at: number): void {
    sql.exec("UPDATE copies SET attempts = ?, nextAt = ? WHERE source = ?", attempts, at, source);
  }

  /** Keeps nothing of a job but that it was there. */
  function end({ source }: CopyRow, forgetAt: number): void {
    const query = "UPDATE copies SET isOver = 1, url = '', userId = '', nextAt = ? WHERE source = ?";
    sql.exec(query, forgetAt, source);
  }

  function nextAt(): number | null {
    return firstTime(sql, "copies", "isOver", "nextAt");
  }
}
