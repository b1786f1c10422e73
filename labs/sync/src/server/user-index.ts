import type { DurableObjectHandlers, ObjectState } from "@sluice/durable";
import { createTables, type ObjectSQL, refusedBy } from "@sluice/durable/internal";
import { notifyOf, readBinding } from "@sluice/worker-proxy/internal";
import { openAlarm } from "./alarm.js";
import { answerFrom, openCollection } from "./collection.js";
import { REMEMBER_MS } from "./index-notes.js";
import { INDEX_TABLES } from "./index-tables.js";
import { isNewsKey, NEWS, openNews } from "./news.js";
import type { ConversationsSetup } from "./options.js";
import { beginState, type CollectionState, type Owner, readState } from "./record-tables.js";
import { openSearch } from "./search.js";
import { closed } from "./sockets.js";
import { openSweep } from "./sweep.js";
import { fieldsOf } from "./texts.js";
import { openThreads } from "./threads.js";
import { type IndexAnswer, type IndexRequest, ownerOf } from "./wire.js";
import { type Taken, writeRecords } from "./writing.js";

/** Most records of the list of a user: three for each conversation, of which two say what is new. */
const MOST_RECORDS = 300_000;

/** Opens the index of a user: the list of conversations as records, their space, and the search. */
export function openUserIndex<Env>(
  state: ObjectState,
  env: Env,
  setup: ConversationsSetup<Env>,
): DurableObjectHandlers & { readonly exists: () => boolean } {
  const { storage } = state;
  const { sql } = storage;
  const tables = createTables({ sql, deleteAll: () => storage.deleteAll() }, INDEX_TABLES);
  const threads = openThreads(sql, setup.bytesPerUser);
  const search = openSearch(sql);
  const bell = openAlarm(storage);
  const { wakeBy } = bell;
  const collection = openCollection({
    state,
    tables,
    mostRecords: MOST_RECORDS,
    makeRoom,
    refuse: (key) => (key.startsWith(NEWS) ? "key_reserved" : undefined),
    changed,
    refused: (id, code, { user }) =>
      notifyOf(setup.onEvent, { kind: "sync:conversation", id, outcome: "refused", code, user }, env),
  });
  const news = openNews(put);
  const sweep = openSweep({ sql, setup, env, threads, search, namespace: () => bound(env) });
  const handlers = { fetch, alarm, webSocketMessage: collection.message, webSocketClose: closed };
  return { ...handlers, exists: () => tables.exist() };

  async function bound(of: Env) {
    return await readBinding("conversations", setup.namespace, of);
  }

  async function fetch(request: Request): Promise<Response> {
    try {
      const owner = ownerOf(request);
      const { pathname, search: question } = new URL(request.url);
      if (pathname === "/index")
        return Response.json(await enter((await request.json()) as IndexRequest, owner));
      if (pathname === "/search")
        return Response.json({ matches: found(decodeURIComponent(question.slice(1))) });
      return await answerFrom(collection, request, owner);
    } catch (error) {
      return refusedBy(error);
    }
  }

  function found(question: string) {
    const { q, limit } = JSON.parse(question) as { q: string; limit: number };
    return tables.exist() ? search.find(q, limit) : [];
  }

  async function makeRoom(owner: Owner): Promise<() => number> {
    await bell.ready();
    return () => {
      begin(owner);
      return setup.bytesPerUser - (readState(sql)?.granted ?? 0);
    };
  }

  function begin(owner: Owner): void {
    tables.create();
    if (!readState(sql)) beginState(sql, owner, Date.now());
  }

  // nothing is awaited between a read and its write
  async function enter(asked: IndexRequest, owner: Owner): Promise<IndexAnswer> {
    await bell.ready();
    const now = Date.now();
    if (asked.do === "claim") {
      begin(owner);
      if (setup.keepMs !== undefined) await wakeBy(now + setup.keepMs);
      return threads.claim(asked.id, asked.wanted, now);
    }
    if (!tables.exist()) return asked.do === "list" ? { listed: [] } : { isKnown: false };
    if (asked.do === "erase") return await erase();
    if (asked.do === "note") return note(asked);
    if (asked.do === "title") return titleOf(sql, asked.id);
    if (asked.do === "list") return { listed: threads.list(asked.after) };
    if (asked.do === "gone") return await bury(asked.id);
    threads.forget(asked.listed);
    return {};
  }

  function note(asked: IndexRequest & { do: "note" }): IndexAnswer {
    const { id, texts, removed, bytes, touchedAt } = asked;
    const answer = threads.note(id, bytes, touchedAt);
    if (answer.granted === undefined) return answer;
    for (const { key, text, at } of texts) search.put({ id, key, title: "", text, at });
    for (const key of removed) search.remove(id, key);
    news.note(id, asked.news);
    return answer;
  }

  function isListed(id: string): boolean {
    return sql.exec("SELECT 1 FROM records WHERE key = ?", id).toArray().length > 0;
  }

  /** Takes a conversation off the list for good. Its texts are deleted by alarms, and are not found meanwhile. */
  async function bury(id: string): Promise<IndexAnswer> {
    const known = threads.find(id);
    if ((!known || known.isGone) && !isListed(id)) return { isKnown: known !== undefined };
    const awake = wakeBy(Date.now());
    threads.bury(id, Date.now());
    sql.exec("INSERT OR REPLACE INTO leftovers VALUES (?)", id);
    put(id, null);
    news.forget(id);
    await awake;
    return { isKnown: true };
  }

  /** Writes a record of the list, null to remove it. Returns false where there is no room. */
  function put(key: string, value: unknown): boolean {
    const mostBytes = setup.bytesPerUser - (readState(sql)?.granted ?? 0);
    const change = { value, seen: Number.MAX_SAFE_INTEGER };
    const bounds = { mostRecords: MOST_RECORDS, mostBytes };
    const written = writeRecords(sql, Object.fromEntries([[key, change]]), bounds, Date.now());
    if (written.changed.length > 0) {
      changed(written.changed);
      collection.wake();
    }
    return written.refused.length === 0;
  }

  /** Notes titles, and conversations that were put into the bin, in the turn of the write. */
  function changed(taken: readonly Taken[]): void {
    const now = Date.now();
    for (const { key: id, value } of taken) {
      if (isNewsKey(id)) continue;
      const { title, removedAt, updatedAt } = fieldsOf(value);
      if (typeof title === "string") {
        const at = Number.isFinite(updatedAt) ? Number(updatedAt) : now;
        search.put({ id, key: "", title, text: "", at });
      } else search.remove(id, "");
      if (typeof removedAt !== "number") sql.exec("DELETE FROM leaving WHERE id = ?", id);
      // by this clock: that of a device may be wrong by years
      else sql.exec("INSERT OR IGNORE INTO leaving VALUES (?, ?)", id, now);
    }
    void wakeBy(now + REMEMBER_MS);
  }

  async function erase(): Promise<IndexAnswer> {
    if (threads.list("").length > 0) return { isKnown: true };
    bell.forget();
    collection.end();
    await tables.deleteAll();
    return {};
  }

  async function alarm(): Promise<void> {
    bell.forget();
    if (!tables.exist()) return await tables.deleteAll();
    const next = await sweep.run(readState(sql) as CollectionState, Date.now());
    if (next !== undefined) await wakeBy(Math.max(next, Date.now()));
  }
}

function titleOf(sql: ObjectSQL, id: string): IndexAnswer {
  const [row] = sql.exec("SELECT value FROM records WHERE key = ?", id).toArray();
  const { title } = row ? fieldsOf(JSON.parse(String(row["value"]))) : {};
  return typeof title === "string" ? { title } : {};
}
