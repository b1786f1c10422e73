import type { DurableObjectClass, DurableObjectHandlers, ObjectState } from "../durable/platform.js";
import { type Copying, openCopying } from "./archive-copying.js";
import { type MediaBucket, removeFiles, type UploadedPart } from "./bucket.js";
import type { FileRow, IndexAnswer, IndexRequest } from "./file-rows.js";
import { checkedSettings, type MediaStoreOptions } from "./options.js";

/** Retry after a bucket that failed, in milliseconds. */
const RETRY_MS = 10 * 60_000;
/** Most files that one alarm deletes: R2 deletes up to 1,000 in one call. */
const BATCH = 500;

/**
 * Makes the class of Durable Objects that count the files of each user, and of all: space is reserved before a byte is
 * stored, and a file is deleted from the bucket when its time is over. With `archive`, the object of a user also copies
 * the files of the user's tasks. An object has one row for each file, no content and no name; the user's id and the
 * gateway's link are in it until the file is copied.
 *
 * @param options the options of `mediaStore`
 * @throws {TypeError} when an option can't work; the message says what to give
 * @example
 * ```ts
 * export const MediaIndex = mediaIndex<Env>({
 *   bucket: (env) => env.MEDIA,
 *   index: (env) => env.MEDIA_INDEX,
 *   secret: (env) => env.PROXY_SECRET,
 * });
 * ```
 */
export function mediaIndex<Env = unknown>(options: MediaStoreOptions<Env>): DurableObjectClass<Env> {
  const settings = checkedSettings(options);
  return class {
    readonly fetch: DurableObjectHandlers["fetch"];
    readonly alarm: DurableObjectHandlers["alarm"];
    constructor(state: ObjectState, env: Env) {
      const index = openIndex(state, () => options.bucket(env), openCopying(state, settings, env));
      this.fetch = index.fetch;
      this.alarm = index.alarm;
    }
  };
}

function openIndex(
  { storage }: ObjectState,
  bucket: () => MediaBucket | undefined,
  copying: Copying,
): DurableObjectHandlers {
  const { sql } = storage;
  const rows = (query: string, ...values: unknown[]) =>
    sql.exec(query, ...values).toArray() as unknown as FileRow[];
  createTable();
  return { fetch: async (request) => Response.json(await enter(await request.json())), alarm };

  function createTable(): void {
    sql.exec(`CREATE TABLE IF NOT EXISTS files (id TEXT PRIMARY KEY, bytes INTEGER, type TEXT, expiresAt INTEGER,
      received INTEGER, isWhole INTEGER, claimed INTEGER, uploadId TEXT, parts TEXT, source TEXT UNIQUE, isCount INTEGER)`);
    copying.createTable();
  }

  // nothing is awaited between a read and its write
  async function enter(request: IndexRequest): Promise<IndexAnswer> {
    createTable();
    if (request.do === "open") return await open(request);
    if (request.do === "find") return { files: wholeFiles(request) };
    if (request.do === "copy") {
      copying.add(request.jobs);
      // a job that is known already wakes nothing before its time
      const at = copying.nextAt();
      if (at !== undefined) await wakeAt(at);
      return {};
    }
    const [file] = rows("SELECT * FROM files WHERE id = ?", request.id);
    if (!file || request.do === "read") return { file };
    if (request.do === "claim") sql.exec("UPDATE files SET claimed = claimed + 1 WHERE id = ?", request.id);
    if (request.do === "drop") sql.exec("DELETE FROM files WHERE id = ?", request.id);
    if (request.do === "drop" && request.isForGood) copying.drop(request.id);
    if (request.do === "whole")
      sql.exec(
        "UPDATE files SET isWhole = 1, received = ?1, bytes = ?1, uploadId = NULL, parts = '[]' WHERE id = ?2",
        request.bytes,
        request.id,
      );
    // a part that came twice counts once
    if (request.do === "part" && request.from === file.received) {
      const parts = JSON.stringify([...(JSON.parse(file.parts) as UploadedPart[]), request.part]);
      sql.exec(
        "UPDATE files SET received = ?, uploadId = ?, parts = ? WHERE id = ?",
        request.to,
        request.uploadId,
        parts,
        request.id,
      );
    }
    return { file: request.do === "drop" ? file : rows("SELECT * FROM files WHERE id = ?", request.id)[0] };
  }

  function wholeFiles({ ids, sources }: IndexRequest & { do: "find" }): readonly FileRow[] {
    const all = [...ids.map((id) => ["id", id] as const), ...sources.map((one) => ["source", one] as const)];
    const query = (field: string) =>
      `SELECT * FROM files WHERE ${field} = ? AND isWhole = 1 AND expiresAt > ?`;
    return all.flatMap(([field, value]) => rows(query(field), value, Date.now()));
  }

  async function wakeAt(at: number): Promise<void> {
    const alarmAt = await storage.getAlarm();
    if (alarmAt === null || at < alarmAt) await storage.setAlarm(at);
  }

  async function open({
    file,
    mostBytes,
    mostFiles,
    isCount,
  }: IndexRequest & { do: "open" }): Promise<IndexAnswer> {
    const now = Date.now();
    const source = file.source ?? null;
    const [known] = source === null ? [] : rows("SELECT * FROM files WHERE source = ?", source);
    if (known) return { file: known };
    // files whose time is over take no space, even if the alarm is late
    const [sum] = sql
      .exec("SELECT total(bytes) AS bytes, count(*) AS files FROM files WHERE expiresAt > ?", now)
      .toArray() as { bytes: number; files: number }[];
    if ((sum?.files ?? 0) >= mostFiles) return { full: "files" };
    if ((sum?.bytes ?? 0) + file.bytes > mostBytes) return { full: "bytes" };
    const { id, bytes, type, expiresAt } = file;
    sql.exec(
      "INSERT INTO files VALUES (?, ?, ?, ?, 0, 0, 1, NULL, '[]', ?, ?)",
      id,
      bytes,
      type,
      expiresAt,
      source,
      isCount ? 1 : 0,
    );
    await wakeAt(expiresAt);
    return { file: rows("SELECT * FROM files WHERE id = ?", id)[0] };
  }

  async function alarm(): Promise<void> {
    createTable();
    const now = Date.now();
    // set first: the platform gives up on an alarm that fails again and again
    await storage.setAlarm(now + RETRY_MS);
    await copying.run(now);
    await removeOld(now);
    const [next] = sql.exec("SELECT min(expiresAt) AS at FROM files").toArray() as { at: number | null }[];
    const at = Math.min(next?.at ?? Number.POSITIVE_INFINITY, copying.nextAt() ?? Number.POSITIVE_INFINITY);
    if (at === Number.POSITIVE_INFINITY) await storage.deleteAll();
    else await storage.setAlarm(Math.max(at, Date.now()));
  }

  async function removeOld(now: number): Promise<void> {
    const over = rows("SELECT * FROM files WHERE expiresAt <= ? LIMIT ?", now, BATCH) as (FileRow & {
      isCount: number;
    })[];
    const own = over.filter(({ isCount }) => isCount === 0);
    await removeFiles(bucket(), own);
    for (const { id } of over) sql.exec("DELETE FROM files WHERE id = ?", id);
  }
}
