import { openCopying } from "../archive/copying.js";
import {
  classOf,
  type DurableObjectClass,
  type DurableObjectHandlers,
  type ObjectState,
} from "../objects/object.js";
import { createTables } from "../objects/tables.js";
import type { FileRow, IndexAnswer, IndexRequest } from "./file-rows.js";
import { type FileChange, openChanges } from "./index-changes.js";
import { findFiles, readPage } from "./index-reads.js";
import { BATCH, openRemoval } from "./index-removal.js";
import { firstTime, INDEX_TABLES } from "./index-tables.js";
import { checkedSettings, MARGIN_MS, type MediaSettings, type MediaStoreOptions } from "./options.js";

/** Retry after a bucket that failed, in milliseconds. */
const RETRY_MS = 10 * 60_000;
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
  return classOf((state, env) => openIndex(state, settings, env));
}

function openIndex<Env>(state: ObjectState, settings: MediaSettings<Env>, env: Env): DurableObjectHandlers {
  const { storage } = state;
  const { sql } = storage;
  const tables = createTables({ sql, deleteAll: () => storage.deleteAll() }, INDEX_TABLES);
  const copying = openCopying(state, settings, env);
  const removal = openRemoval(sql, settings, env);
  const { open, change } = openChanges(sql, settings, removal, wakeAt);
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
      // a job that is known already sets no earlier alarm
      const at = copying.nextAt();
      if (at !== null) await wakeAt(at);
      return {};
    }
    return await enterOne(request);
  }

  /** Answers a request about one file. */
  async function enterOne(request: FileRequest): Promise<IndexAnswer> {
    const [found] = rows("SELECT * FROM files WHERE id = ?", request.id);
    if (request.do === "bury") {
      // one that has a row is deleted by it
      if (!found) removal.bury(request, Date.now(), 0);
      await wakeAt(Date.now() + MARGIN_MS);
      return {};
    }
    if (request.do === "gone") return await gone(found);
    if (request.do === "drop") return await drop(found, request);
    return found && !found.isDropped ? await change(found, request) : {};
  }

  /** Ends the count of a file that the bucket has deleted, or never had. */
  async function gone(file: FileRow | undefined): Promise<IndexAnswer> {
    if (file?.isDropped) removal.end(file, Date.now());
    else if (file) removal.remove([file.id]);
    if (file?.isDropped && file.claimedUntil > Date.now()) await wakeAt(file.claimedUntil);
    return {};
  }

  /** Marks a file, which its request deletes from the bucket; an alarm does where that request is lost. */
  async function drop(
    file: FileRow | undefined,
    { id, isForGood = false }: FileRequest & { do: "drop" },
  ): Promise<IndexAnswer> {
    if (isForGood) copying.drop(id);
    if (!file || file.isDropped) return { file };
    const now = Date.now();
    removal.mark(id, now, isForGood && !file.isWhole ? now + removal.storesMs : 0);
    await wakeAt(now + MARGIN_MS);
    return { file };
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

  /** Returns the time until which the erasure of the user is remembered; undefined where that time is over. */
  function erasureEnd(): number | undefined {
    const [sums] = sql.exec("SELECT erasedAt FROM sums").toArray();
    const end = Number(sums?.["erasedAt"]) + removal.storesMs;
    return end > Date.now() ? end : undefined;
  }
}

/** A request about one file, which may not be there. */
type FileRequest = FileChange | Extract<IndexRequest, { do: "bury" | "gone" | "drop" }>;
