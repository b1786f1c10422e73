import type { JobEvent } from "@sluice/worker-proxy";
import { hashOf, logError, notifyOf, readBinding, refusalIn, textOf } from "@sluice/worker-proxy/internal";
import type { CopyJob, CopyRow } from "../files/file-rows.js";
import { firstTime } from "../files/index-tables.js";
import type { ArchiveSettings, MediaSettings } from "../files/options.js";
import { openSpace } from "../files/space.js";
import type { ObjectState } from "../objects/object.js";
import { copyFile, isHopeless, isNoSpace, MOST_ATTEMPTS } from "./copy.js";

/** The shortest time for which a job is remembered: gateways know a task for about as long. */
const DAY_MS = 86_400_000;

/** Most jobs that one alarm forgets. */
const BATCH = 500;
/** Pause of a copy that finds no space, in pauses of `retryMs`: 8 minutes by default. */
const SPACE_PAUSES = 16;
/** Longest time for which a copy waits for space: links of gateways end sooner. */
const MOST_WAIT_MS = 7 * DAY_MS;

/** The part of an event that differs from end to end. */
type Ended = Pick<JobEvent, "outcome" | "code" | "attempts" | "nextAt" | "bytes">;

/** Opens the copying of one user's files, by the alarm of the user's object. It does nothing without `archive`. */
export function openCopying<Env>({ storage }: ObjectState, settings: MediaSettings<Env>, env: Env) {
  const { sql } = storage;
  const { archive, userFiles } = settings;
  return { add, drop, run, nextAt, forget };

  /** Adds jobs whose source is not known yet, as long as fewer are open than a user may have files. */
  async function add(jobs: readonly CopyJob[]): Promise<void> {
    const dropped = jobs.filter((job) => !isAdded(job));
    const event = { outcome: "dropped", code: "too_many_copies" } as const;
    for (const job of dropped) await report(job, event, `${userFiles} copies are waiting; dropped`);
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
      `INSERT INTO copies (source, id, userId, url, taskId, attempts, nextAt, isOver, isPaid, notedAt)
        VALUES (?, ?, ?, ?, ?, 0, ?6, 0, 0, ?6)`,
      source,
      id,
      userId,
      url,
      taskId ?? null,
      Date.now(),
    );
    return true;
  }

  /**
   * Reports the end of a job or of an attempt. The log has no address, which may be signed, and a user's id as a hash.
   *
   * @param why the line in the log. @default none
   */
  async function report(job: CopyJob, event: Ended, why?: string): Promise<void> {
    const { id, userId: user, taskId } = job;
    if (why !== undefined) {
      const names = [taskId && `task ${taskId}`, `copy ${id}`, `user ${await hashOf(`media\n${user}`)}`];
      logError(`archive: ${why}: ${names.filter(Boolean).join(", ")}`);
    }
    notifyOf(settings.onEvent, { kind: "copy", id, user, taskId: taskId ?? undefined, ...event }, env);
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
      const copy = await copyFile(job, {
        env,
        bucket: await readBinding("mediaStore: bucket", settings.bucket, env),
        space: openSpace(await readBinding("mediaStore: index", settings.index, env), settings),
        settings,
        archive,
        notePaid: (isPaid) =>
          void sql.exec("UPDATE copies SET isPaid = ? WHERE source = ?", isPaid ? 1 : 0, job.source),
      });
      end(job, Date.now() + Math.max(archive.keepMs, DAY_MS));
      const { attempts } = job;
      await report(job, copy ? { outcome: "complete", bytes: copy.bytes, attempts } : { outcome: "stopped" });
    } catch (error) {
      await failed(job, error, archive);
    }
  }

  /** Ends a job after an attempt that failed, or lets it wait for the next one. */
  async function failed(job: CopyRow, error: unknown, { retryMs }: ArchiveSettings<Env>): Promise<void> {
    if (isDropped(job)) {
      end(job, Date.now() + DAY_MS);
      return await report(job, { outcome: "stopped" });
    }
    const refusal = refusalIn(error);
    const { code, message } = textOf(refusal);
    const why = refusal.details.problem ?? message;
    // finding no space counts as no attempt: a file that is paid waits for as long as its link works
    const isWaiting = isNoSpace(refusal) && Date.now() - job.notedAt < MOST_WAIT_MS;
    const attempts = isWaiting ? job.attempts - 1 : job.attempts;
    if (!isWaiting && (isHopeless(refusal) || attempts >= MOST_ATTEMPTS)) {
      end(job, Date.now() + DAY_MS);
      return await report(job, { outcome: "failed", code, attempts }, `${why}; dropped`);
    }
    const pause = isWaiting ? SPACE_PAUSES : 4 ** (attempts - 1);
    const next = Date.now() + retryMs * pause;
    wait({ ...job, attempts }, next);
    const what = isWaiting ? "the copy waits for space" : "another attempt follows";
    await report(job, { outcome: "waiting", code, attempts, nextAt: next }, `${why}; ${what}`);
  }

  /** Returns true for a job whose copy was deleted by its owner. */
  function isDropped({ source }: CopyRow): boolean {
    const [row] = sql.exec("SELECT url FROM copies WHERE source = ?", source).toArray();
    return row === undefined || row["url"] === "";
  }

  /** Forgets up to `most` jobs, those that wait, too. Returns how many there were. */
  function forget(most: number): number {
    const query = "DELETE FROM copies WHERE source IN (SELECT source FROM copies LIMIT ?) RETURNING source";
    return sql.exec(query, most).toArray().length;
  }

  function wait({ source, attempts }: CopyRow, at: number): void {
    sql.exec("UPDATE copies SET attempts = ?, nextAt = ? WHERE source = ?", attempts, at, source);
  }

  /** Forgets all of a job but its name, so that nothing is copied a second time. */
  function end({ source }: CopyRow, forgetAt: number): void {
    const query = "UPDATE copies SET isOver = 1, url = '', userId = '', nextAt = ? WHERE source = ?";
    sql.exec(query, forgetAt, source);
  }

  function nextAt(): number | null {
    return firstTime(sql, "copies", "isOver", "nextAt");
  }
}
