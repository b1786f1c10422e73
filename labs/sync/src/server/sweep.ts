import type { ObjectNamespace } from "@sluice/durable";
import type { ObjectSQL } from "@sluice/durable/internal";
import type { JobEvent } from "@sluice/worker-proxy";
import { logError, notifyOf } from "@sluice/worker-proxy/internal";
import { UNTOUCHED } from "./conversation.js";
import { REMEMBER_MS } from "./index-notes.js";
import type { ConversationsSetup } from "./options.js";
import { type CollectionState, type Owner, writeState } from "./record-tables.js";
import type { openSearch } from "./search.js";
import type { openThreads } from "./threads.js";
import { objectOf, requestTo } from "./wire.js";
import { forgetRemoved } from "./writing.js";

/** The parts of an index that its alarms work on. */
interface SweepParts<Env> {
  readonly sql: ObjectSQL;
  readonly setup: ConversationsSetup<Env>;
  readonly env: Env;
  readonly threads: ReturnType<typeof openThreads>;
  readonly search: ReturnType<typeof openSearch>;
  namespace(): Promise<ObjectNamespace>;
}

/** Most rows that one alarm deletes of each kind, and most conversations that it removes. */
const BATCH = 200;
const FEW = 10;
/** Pause after a conversation that can't be removed now, in milliseconds. */
const RETRY_MS = 3_600_000;

/** Opens the work of an index that nobody waits for: each alarm does a few steps, and says when the next one is due. */
export function openSweep<Env>(parts: SweepParts<Env>) {
  const { sql, setup, env, threads, search, namespace } = parts;
  return { run };

  /** Returns the time of the next alarm; undefined where nothing is left to do. */
  async function run(state: CollectionState, now: number): Promise<number | undefined> {
    const { keepMs } = setup;
    deleteTexts();
    const noted = { ...state };
    forgetRemoved(sql, noted, BATCH, now - REMEMBER_MS);
    if (noted.removals !== state.removals) writeState(sql, noted);
    for (const id of due("leaving", "at", now - REMEMBER_MS)) await remove(state, id, "removed", now);
    if (keepMs !== undefined)
      for (const id of due("threads", "touchedAt", now - keepMs)) await remove(state, id, "expired", now);
    const ends = [
      sql.exec("SELECT 1 FROM leftovers LIMIT 1").toArray().length > 0 ? now : undefined,
      later("SELECT at FROM removed ORDER BY version LIMIT 1", REMEMBER_MS),
      later("SELECT at FROM leaving ORDER BY at LIMIT 1", REMEMBER_MS),
      keepMs === undefined ? undefined : later(`SELECT touchedAt AS at FROM threads ${OPEN}`, keepMs),
    ];
    const times = ends.filter((at) => at !== undefined);
    return times.length > 0 ? Math.min(...times) : undefined;
  }

  function deleteTexts(): void {
    const [first] = sql.exec("SELECT id FROM leftovers LIMIT 1").toArray();
    if (first && search.removeSome(String(first["id"]), BATCH) < BATCH)
      sql.exec("DELETE FROM leftovers WHERE id = ?", first["id"]);
  }

  function due(table: "leaving" | "threads", time: string, until: number): readonly string[] {
    const where = table === "threads" ? "isGone = 0 AND" : "";
    const query = `SELECT id FROM ${table} WHERE ${where} ${time} <= ? ORDER BY ${time} LIMIT ?`;
    return sql
      .exec(query, until, FEW)
      .toArray()
      .map(({ id }) => String(id));
  }

  function later(query: string, ms: number): number | undefined {
    const [row] = sql.exec(query).toArray();
    return row && Number(row["at"]) + ms;
  }

  /** Has a conversation removed for good. One that was changed meanwhile stays, unless it is in the bin. */
  async function remove({ user, userName }: Owner, id: string, code: string, now: number): Promise<void> {
    const owner = { user, userName, conversation: id };
    const isOld = code === "expired";
    const headers: Record<string, string> = isOld ? { [UNTOUCHED]: String(threads.find(id)?.touchedAt) } : {};
    const report = (event: Pick<JobEvent, "outcome" | "code">) =>
      notifyOf(setup.onEvent, { kind: "sync:conversation", id, user, ...event }, env);
    try {
      const request = requestTo(owner, "/", { method: "DELETE", headers });
      const answer = await objectOf(await namespace(), owner).fetch(request);
      if (!answer.ok) throw new Error(`it answered with ${answer.status}`);
      const { touchedAt } = (await answer.json()) as { touchedAt?: number };
      if (touchedAt !== undefined) return threads.postpone(id, touchedAt);
      report({ outcome: "dropped", code });
    } catch (error) {
      logError(`conversations: one could not be removed; it is tried again in an hour: ${error}`);
      report({ outcome: "waiting", code });
      sql.exec("UPDATE leaving SET at = ? WHERE id = ?", now - REMEMBER_MS + RETRY_MS, id);
      if (isOld) threads.postpone(id, now - (setup.keepMs ?? 0) + RETRY_MS);
    }
  }
}

/** The oldest conversation that is kept. */
const OPEN = "WHERE isGone = 0 ORDER BY touchedAt LIMIT 1";
