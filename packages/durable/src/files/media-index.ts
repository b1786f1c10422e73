import { openCopying } from "../archive/copying.js";
import type { DurableObjectClass, DurableObjectHandlers, ObjectState } from "../objects/object.js";
import { createTables } from "../objects/tables.js";
import type { UploadedPart } from "./bucket.js";
import type { FileRow, IndexAnswer, IndexRequest } from "./file-rows.js";
import { findFiles, readPage } from "./index-reads.js";
import { BATCH, openRemoval } from "./index-removal.js";
import { firstTime, INDEX_TABLES } from "./index-tables.js";
import {
  checkedSettings,
  MARGIN_MS,
  type MediaSettings,
  type MediaStoreOptions,
  partMsOf,
} from "./options.js";

/** Retry after a bucket that failed, in milliseconds. */
const RETRY_MS = 10 * 60_000;
/** Most files that a request stops to count because their time is over; an alarm, or a request without space, more. */
const FEW = 5;
/** Requests that create the tables. Others do not: nothing would ever delete them. */
const CREATING: readonly IndexRequest["do"][] = ["open", "copy", "bury", "erase"];

/**
 * Makes the class of Durable Objects that count the files of each user, and of all: space is reserved before a byte is
 * stored, and a file is deleted from the bucket when its time is over. With `archive`, the object of a user also copies
 * the files of the user's tasks. An object has one row for each file, no content and no name; the user's id and the
 * gateway's link are in it until the file is whole.
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
  const removal = openRemoval(sql, settings, env);
  const rows = (query: string, ...values: unknown[]) =>
    sql.exec(query, ...values).toArray() as unknown as FileRow[];
  return { fetch: async (request) => Response.json(await enter(await request.json())), alarm };

  // nothing is awaited between a read and its write
  async function enter(request: IndexRequest): Promise<IndexAnswer> {
    if (CREATING.includes(request.do)) tables.create();
    if (!tables.exist()) return {};
    if (request.do === "open") return await open(request);
    if (request.do === "find") return findFiles(sql, request);
    if (request.do === "list") return readPage(sql, request);
    if (request.do === "erase") return await erase();
    if (request.do === "forget") {
      removal.remove(request.ids);
      return {};
    }
    if (request.do === "copy") {
      await copying.add(request.jobs);
      // a job that is known already wakes nothing before its time
      const at = copying.nextAt();
      if (at !== null) await wakeAt(at);
      return {};
    }
    const [found] = rows("SELECT * FROM files WHERE id = ?", request.id);
    if (request.do === "bury") {
      // one that has a row is deleted by it
      if (!found) removal.bury(request, Date.now(), 0);
      await wakeAt(Date.now() + MARGIN_MS);
      return {};
    }
    if (request.do === "gone") return await gone(found);
    if (request.do === "drop" && request.isForGood) copying.drop(request.id);
    if (!found?.isDropped) return found ? await change(found, request) : {};
    return request.do === "drop" ? { file: found } : {};
  }

  /** Ends the count of a file that the bucket has deleted, or never had. */
  async function gone(file: FileRow | undefined): Promise<IndexAnswer> {
    if (file?.isDropped) removal.end(file, Date.now());
    else if (file) removal.remove([file.id]);
    if (file?.isDropped && file.claimedUntil > Date.now()) await wakeAt(file.claimedUntil);
    return {};
  }

  /** Makes a change of one file. */
  async function change(file: FileRow, request: FileChange): Promise<IndexAnswer> {
    if (request.do === "drop") return { file: await drop(file, request.isForGood) };
    if (request.do === "claim") return claim(file, request.from);
    if (request.do === "begin")
      // the request that has begun it stores the first part
      sql.exec(
        "UPDATE files SET uploadId = ?, claimedUntil = expiresAt WHERE id = ?",
        request.uploadId,
        file.id,
      );
    if (request.do === "release")
      sql.exec("UPDATE files SET claimedUntil = 0 WHERE id = ? AND claimed = ?", file.id, request.claim);
    if (request.do === "whole") {
      const expiresAt = Date.now() + ((file.isCopy && settings.archive?.keepMs) || settings.keepMs);
      sql.exec(
        `UPDATE files SET isWhole = 1, received = bytes, uploadId = NULL, parts = '[]', userId = NULL, expiresAt = ?
          WHERE id = ?`,
        expiresAt,
        file.id,
      );
      await wakeAt(expiresAt);
    }
    if (request.do === "part" && request.from === file.received && request.claim === file.claimed)
      await addPart(file, request);
    return { file: request.do === "read" ? file : rows("SELECT * FROM files WHERE id = ?", file.id)[0] };
  }

  function claim(file: FileRow, from: number): IndexAnswer {
    const isFree = file.claimedUntil <= Date.now() && from === file.received && file.uploadId !== null;
    if (!isFree) return { file, isClaimed: false };
    // longer than the request may take: a claim whose sender is gone ends by itself
    const until = Date.now() + partMsOf(settings) + MARGIN_MS;
    const query = "UPDATE files SET claimed = claimed + 1, claimedUntil = ? WHERE id = ? RETURNING *";
    return { file: rows(query, until, file.id)[0], isClaimed: true };
  }

  async function addPart(file: FileRow, request: FileChange & { do: "part" }): Promise<void> {
    const parts = JSON.stringify([...(JSON.parse(file.parts) as UploadedPart[]), request.part]);
    const end = Date.now() + settings.unfinishedMs;
    sql.exec(
      "UPDATE files SET received = ?, uploadId = ?, parts = ?, expiresAt = ?, claimedUntil = ? WHERE id = ?",
      request.to,
      request.uploadId,
      parts,
      end,
      // the claim of the last part holds until the file is put together
      request.to === file.bytes ? file.claimedUntil : 0,
      file.id,
    );
    await wakeAt(end);
  }

  /** Marks a file, which its request deletes from the bucket; an alarm does where that request is lost. */
  async function drop(file: FileRow, isForGood = false): Promise<FileRow> {
    const now = Date.now();
    removal.mark(file.id, now, isForGood && !file.isWhole ? now + removal.storesMs : 0);
    await wakeAt(now + MARGIN_MS);
    return file;
  }

  /** Deletes up to some hundred files and jobs. What a failing bucket keeps is deleted by the next call, or by an alarm. */
  async function erase(): Promise<IndexAnswer> {
    const now = Date.now();
    const counts = [copying.forget(BATCH), removal.erase(now)];
    await wakeAt(now);
    const { count, cause } = await removal.removeOld(now);
    if (cause !== undefined) throw cause;
    return { isMore: [...counts, count].includes(BATCH) };
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
    removal.stopCounting(now, FEW);
    if (fullness(request)) removal.stopCounting(now, BATCH);
    const full = fullness(request);
    if (full) return { full };
    sql.exec(
      `INSERT INTO files
        (id, bytes, type, expiresAt, received, isWhole, claimed, parts, source, isCount, isCopy, userId)
        VALUES (?, ?, ?, ?, 0, 0, 1, '[]', ?, ?, ?, ?)`,
      file.id,
      file.bytes,
      file.type,
      file.expiresAt,
      source,
      isCount ? 1 : 0,
      isCopy ? 1 : 0,
      file.userId ?? null,
    );
    await wakeAt(file.expiresAt);
    return { file: rows("SELECT * FROM files WHERE id = ?", file.id)[0] };
  }

  /** Returns the bound that a file would pass. Files count until the bucket has deleted them. */
  function fullness({ file, isCopy, mostBytes, mostUploadBytes, mostFiles }: IndexRequest & { do: "open" }) {
    const [sums] = sql.exec("SELECT files, bytes, uploadBytes, erasedAt FROM sums").toArray();
    const { files, bytes, uploadBytes, erasedAt } = sums as Sums;
    if (file.startedAt !== undefined && file.startedAt < erasedAt) return "erased";
    if (files >= mostFiles) return "files";
    if (bytes + file.bytes > mostBytes) return "bytes";
    return !isCopy && uploadBytes + file.bytes > mostUploadBytes ? "bytes" : undefined;
  }

  async function alarm(): Promise<void> {
    if (!tables.exist()) return await tables.deleteAll();
    const now = Date.now();
    // set first: the platform gives up on an alarm that fails again and again
    await storage.setAlarm(now + RETRY_MS);
    await copying.run(now);
    removal.stopCounting(now, BATCH);
    await removal.removeOld(now);
    const times = [firstTime(sql, "files", "isCount", "expiresAt"), copying.nextAt()].filter(
      (at) => at !== null,
    );
    const at = times.length === 0 ? erasureEnd() : Math.min(...times);
    if (at === undefined) await tables.deleteAll();
    else await storage.setAlarm(Math.max(at, Date.now()));
  }

  /** Returns the time until which it has to be known that the user was erased; undefined where it is over. */
  function erasureEnd(): number | undefined {
    const [sums] = sql.exec("SELECT erasedAt FROM sums").toArray();
    const end = Number(sums?.["erasedAt"]) + removal.storesMs;
    return end > Date.now() ? end : undefined;
  }
}

/** The sums of an index that bound it. */
type Sums = Record<"files" | "bytes" | "uploadBytes" | "erasedAt", number>;

/** A request about one file that exists. */
type FileChange = Extract<
  IndexRequest,
  { do: "read" | "claim" | "release" | "begin" | "part" | "whole" | "drop" }
>;
