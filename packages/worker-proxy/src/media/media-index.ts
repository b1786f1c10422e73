import type { DurableObjectClass, DurableObjectHandlers, ObjectState } from "../durable/platform.js";
import { createTables } from "../durable/tables.js";
import { readBinding } from "../refusal.js";
import { openCopying } from "./archive-copying.js";
import { removeFiles, type UploadedPart } from "./bucket.js";
import type { FileRow, IndexAnswer, IndexRequest } from "./file-rows.js";
import { firstTime, INDEX_TABLES } from "./index-tables.js";
import {
  checkedSettings,
  MARGIN_MS,
  type MediaSettings,
  type MediaStoreOptions,
  partMsOf,
} from "./options.js";
import { openSpace } from "./space.js";

/** Retry after a bucket that failed, in milliseconds. */
const RETRY_MS = 10 * 60_000;
/** Most files that one alarm deletes: R2 deletes up to 1,000 in one call. */
const BATCH = 500;
/** Most files that a request stops to count because their time is over; an alarm, or a request without space, more. */
const FEW = 5;

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
      const index = openIndex(state, settings, env);
      this.fetch = index.fetch;
      this.alarm = index.alarm;
    }
  };
}

function openIndex<Env>(state: ObjectState, settings: MediaSettings<Env>, env: Env): DurableObjectHandlers {
  const { storage } = state;
  const { sql } = storage;
  const tables = createTables({ sql, deleteAll: () => storage.deleteAll() }, INDEX_TABLES);
  const copying = openCopying(state, settings, env);
  const rows = (query: string, ...values: unknown[]) =>
    sql.exec(query, ...values).toArray() as unknown as FileRow[];
  return { fetch: async (request) => Response.json(await enter(await request.json())), alarm };

  // nothing is awaited between a read and its write
  async function enter(request: IndexRequest): Promise<IndexAnswer> {
    // a read or a deletion creates no tables: nothing would ever delete them
    if (request.do === "open" || request.do === "copy") tables.create();
    if (!tables.exist()) return {};
    if (request.do === "open") return await open(request);
    if (request.do === "forget") {
      remove(request.ids);
      return {};
    }
    if (request.do === "find") return { files: wholeFiles(request) };
    if (request.do === "copy") {
      await copying.add(request.jobs);
      // a job that is known already wakes nothing before its time
      const at = copying.nextAt();
      if (at !== null) await wakeAt(at);
      return {};
    }
    const [file] = rows("SELECT * FROM files WHERE id = ?", request.id);
    if (!file || request.do === "read") return { file };
    if (request.do === "claim") {
      const isFree =
        file.claimedUntil <= Date.now() && request.from === file.received && file.uploadId !== null;
      if (!isFree) return { file, isClaimed: false };
      // longer than the request may take: a claim whose sender is gone ends by itself
      const until = Date.now() + partMsOf(settings) + MARGIN_MS;
      const query = "UPDATE files SET claimed = claimed + 1, claimedUntil = ? WHERE id = ? RETURNING *";
      const [claimed] = rows(query, until, request.id);
      return { file: claimed, isClaimed: true };
    }
    if (request.do === "release")
      sql.exec("UPDATE files SET claimedUntil = 0 WHERE id = ? AND claimed = ?", request.id, request.claim);
    if (request.do === "drop") remove([request.id]);
    if (request.do === "drop" && request.isForGood) copying.drop(request.id);
    if (request.do === "whole") {
      const expiresAt = Date.now() + ((file.isCopy && settings.archive?.keepMs) || settings.keepMs);
      sql.exec(
        "UPDATE files SET isWhole = 1, received = bytes, uploadId = NULL, parts = '[]', expiresAt = ? WHERE id = ?",
        expiresAt,
        request.id,
      );
      await wakeAt(expiresAt);
    }
    if (request.do === "part" && request.from === file.received && request.claim === file.claimed) {
      const parts = JSON.stringify([...(JSON.parse(file.parts) as UploadedPart[]), request.part]);
      sql.exec(
        "UPDATE files SET received = ?, uploadId = ?, parts = ?, expiresAt = ?, claimedUntil = ? WHERE id = ?",
        request.to,
        request.uploadId,
        parts,
        Date.now() + settings.unfinishedMs,
        // the claim of the last part holds until the file is put together
        request.to === file.bytes ? file.claimedUntil : 0,
        request.id,
      );
      await wakeAt(Date.now() + settings.unfinishedMs);
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

  async function open(request: IndexRequest & { do: "open" }): Promise<IndexAnswer> {
    const { file, isCopy, isCount } = request;
    const now = Date.now();
    const source = file.source ?? null;
    // a copy that is only not deleted yet does not stand for a new one
    sql.exec("UPDATE files SET source = NULL WHERE source = ? AND expiresAt <= ?", source, now);
    const [known] = source === null ? [] : rows("SELECT * FROM files WHERE source = ?", source);
    if (known) return { file: known };
    stopCounting(now, FEW);
    if (fullness(request)) stopCounting(now, BATCH);
    const full = fullness(request);
    if (full) return { full };
    sql.exec(
      `INSERT INTO files (id, bytes, type, expiresAt, received, isWhole, claimed, parts, source, isCount, isCopy)
        VALUES (?, ?, ?, ?, 0, 0, 1, '[]', ?, ?, ?)`,
      file.id,
      file.bytes,
      file.type,
      file.expiresAt,
      source,
      isCount ? 1 : 0,
      isCopy ? 1 : 0,
    );
    await wakeAt(file.expiresAt);
    return { file: rows("SELECT * FROM files WHERE id = ?", file.id)[0] };
  }

  /** Returns the bound that a file would pass. Files count until the bucket has deleted them. */
  function fullness({ file, isCopy, mostBytes, mostUploadBytes, mostFiles }: IndexRequest & { do: "open" }) {
    const [sums] = sql.exec("SELECT files, bytes, uploadBytes FROM sums").toArray();
    const { files, bytes, uploadBytes } = sums as Record<"files" | "bytes" | "uploadBytes", number>;
    if (files >= mostFiles) return "files";
    if (bytes + file.bytes > mostBytes) return "bytes";
    return !isCopy && uploadBytes + file.bytes > mostUploadBytes ? "bytes" : undefined;
  }

  /** Stops counting files whose own index should have deleted them long ago. */
  function stopCounting(now: number, most: number): number {
    const old = rows("SELECT id FROM files WHERE expiresAt <= ? AND isCount = 1 LIMIT ?", now, most);
    remove(old.map(({ id }) => id));
    return old.length;
  }

  function remove(ids: readonly string[]): void {
    for (const id of ids) sql.exec("DELETE FROM files WHERE id = ?", id);
  }

  async function alarm(): Promise<void> {
    if (!tables.exist()) return await tables.deleteAll();
    const now = Date.now();
    // set first: the platform gives up on an alarm that fails again and again
    await storage.setAlarm(now + RETRY_MS);
    await copying.run(now);
    stopCounting(now, BATCH);
    await removeOld(now);
    const times = [firstTime(sql, "files", "isCount", "expiresAt"), copying.nextAt()].filter(
      (at) => at !== null,
    );
    if (times.length === 0) await tables.deleteAll();
    else await storage.setAlarm(Math.max(Math.min(...times), Date.now()));
  }

  /** Deletes files whose time is over from the bucket. Their space is given back after that. */
  async function removeOld(now: number): Promise<void> {
    const old = rows("SELECT * FROM files WHERE expiresAt <= ? AND isCount = 0 LIMIT ?", now, BATCH);
    if (old.length === 0) return;
    await removeFiles(settings.bucket(env), old);
    const ids = old.map(({ id }) => id);
    const { forget } = openSpace(await readBinding("mediaStore: index", settings.index, env), settings);
    await forget(ids);
    remove(ids);
  }
}
