import type { ObjectState } from "../durable/platform.js";
import { readBinding, refusalIn } from "../refusal.js";
import { textOf } from "../refusals.js";
import { logError } from "../report.js";
import { type CopyRow, copyFile, isHopeless, MOST_ATTEMPTS } from "./archive-copy.js";
import type { CopyJob } from "./file-rows.js";
import type { MediaSettings } from "./options.js";
import { openSpace } from "./space.js";

/** The copying of one user's files, by the alarm of the user's object. */
export type Copying = ReturnType<typeof openCopying>;

/** The shortest time for which a job is remembered: gateways know a task for about as long. */
const DAY_MS = 86_400_000;

/** Opens the jobs of an object. They do nothing without `archive`. */
export function openCopying<Env>({ storage }: ObjectState, settings: MediaSettings<Env>, env: Env) {
  const { sql } = storage;
  const { archive, userFiles } = settings;
  return { createTable, add, drop, run, nextAt };

  function createTable(): void {
    sql.exec(`CREATE TABLE IF NOT EXISTS copies (source TEXT PRIMARY KEY, id TEXT, userId TEXT, url TEXT,
      attempts INTEGER, nextAt INTEGER, isOver INTEGER, isPaid INTEGER)`);
  }

  /** Adds jobs whose source is not known yet, up to the number of files that a user may have. */
  function add(jobs: readonly CopyJob[]): void {
    for (const { source, id, userId, url } of jobs) {
      const [known] = sql.exec("SELECT count(*) AS jobs FROM copies").toArray();
      if (Number(known?.["jobs"]) >= userFiles) return;
      const row = [source, id, userId, url, 0, Date.now(), 0, 0];
      sql.exec("INSERT OR IGNORE INTO copies VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ...row);
    }
  }

  /** Gives up the copy that its owner has deleted. An attempt that is under way deletes what it stores, or the next one. */
  function drop(id: string): void {
    sql.exec("UPDATE copies SET url = '' WHERE id = ?", id);
  }

  /** Makes one attempt at one job that is due. Never throws. */
  async function run(now: number): Promise<void> {
    sql.exec("DELETE FROM copies WHERE isOver = 1 AND nextAt <= ?", now);
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
      const isOver = isHopeless(error) || job.attempts >= MOST_ATTEMPTS;
      // no address: it may be signed
      logError(`archive: ${textOf(refusalIn(error)).message}${isOver ? "" : "; another attempt follows"}`);
      if (isOver) end(job, Date.now() + DAY_MS);
      else wait(job, Date.now() + archive.retryMs * 4 ** (job.attempts - 1));
    }
  }

  function wait({ source, attempts }: CopyRow, at: number): void {
    sql.exec("UPDATE copies SET attempts = ?, nextAt = ? WHERE source = ?", attempts, at, source);
  }

  /** Keeps nothing of a job but that it was there. */
  function end({ source }: CopyRow, forgetAt: number): void {
    const query = "UPDATE copies SET isOver = 1, url = '', userId = '', nextAt = ? WHERE source = ?";
    sql.exec(query, forgetAt, source);
  }

  function nextAt(): number | undefined {
    const [next] = sql.exec("SELECT min(nextAt) AS at FROM copies").toArray() as { at: number | null }[];
    return next?.at ?? undefined;
  }
}
