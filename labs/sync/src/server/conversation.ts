import type { DurableObjectHandlers, ObjectState } from "@sluice/durable";
import { createTables, type ObjectSQL, objectRefusal, refusedBy } from "@sluice/durable/internal";
import { logError, notifyOf, readBinding } from "@sluice/worker-proxy/internal";
import { openAlarm } from "./alarm.js";
import { answerFrom, openCollection } from "./collection.js";
import { openIndexNotes, UNTOLD } from "./index-notes.js";
import { noteNews } from "./news.js";
import type { ConversationsSetup } from "./options.js";
import {
  beginState,
  type CollectionState,
  type Owner,
  RECORD_TABLES,
  STATE_TABLE,
  writeState,
} from "./record-tables.js";
import { openRoom } from "./room.js";
import { NOTICE_TABLES } from "./runner/notice-rows.js";
import { TURN_TABLES } from "./runner/rows.js";
import { openRunning } from "./running.js";
import { closed } from "./sockets.js";
import { askIndex, ERASE, type IndexAnswer, type IndexRequest, ownerOf } from "./wire.js";

const CONVERSATION_TABLES = {
  first: "records",
  isShared: true,
  steps: [[...RECORD_TABLES, STATE_TABLE, ...TURN_TABLES, ...NOTICE_TABLES]],
} as const;

/** Header of a removal by the index: it holds unless the conversation was changed after this time, in Unix milliseconds. */
export const UNTOUCHED = "x-sluice-untouched";

/** Time from a write to the note for the index, and after one that failed, in milliseconds. */
const NOTE_MS = 10_000;
const RETRY_MS = 60_000;

/** Opens the object of one conversation. */
export function openConversation<Env>(
  state: ObjectState,
  env: Env,
  setup: ConversationsSetup<Env>,
): DurableObjectHandlers {
  const { storage } = state;
  const { sql } = storage;
  const tables = createTables({ sql, deleteAll: () => storage.deleteAll() }, CONVERSATION_TABLES);
  const bell = openAlarm(storage);
  const { wakeBy } = bell;
  const collection = openCollection({
    state,
    tables,
    mostRecords: setup.recordsPerConversation,
    makeRoom,
    note: noteNews,
    changed(taken) {
      noteSoon();
      running.runs?.changed(new Map(taken.map(({ key, value }) => [key, value ?? undefined])));
    },
    refused: (_, code, owner) => reportRefused(code, owner),
  });
  const { current } = collection;
  const notes = openIndexNotes({ sql, current, ask, empty });
  const running = openRunning({
    ...{ state, env, setup, collection, makeRoom, wakeBy },
    titleOf: async (owner) => (await ask(owner, { do: "title", id: owner.conversation })).title,
    changed: noteSoon,
  });
  /** Number of erasures that this process has seen: what waits for the index meanwhile must not store anything. */
  let erasures = 0;
  const roomFor = openRoom({
    ...{ sql, tables, current, watchErasure },
    claim: (owner, wanted) => ask(owner, { do: "claim", id: owner.conversation, wanted }),
    full: (owner) => reportRefused("space_exceeded", owner),
  });
  return { fetch, alarm, webSocketMessage: collection.message, webSocketClose: closed };

  async function fetch(request: Request): Promise<Response> {
    try {
      if (request.url === ERASE) return await erase();
      const owner = ownerOf(request);
      if (setup.runner) await bell.ready();
      running.runs?.resume();
      const { pathname } = new URL(request.url);
      if (request.method === "DELETE" && pathname === "/") return await remove(request, owner);
      if (pathname === "/turns") return await running.answer(request, owner);
      return await answerFrom(collection, request, owner);
    } catch (error) {
      return refusedBy(error);
    }
  }

  function noteSoon(): void {
    void wakeBy(Date.now() + NOTE_MS);
  }

  async function makeRoom(owner: Owner, more: number): Promise<() => number> {
    await bell.ready();
    return await roomFor(owner, more);
  }

  /** Returns a check that nothing was erased since. @throws {Refusal} */
  function watchErasure(): () => void {
    const before = erasures;
    return () => {
      if (before !== erasures) throw objectRefusal("user_erased");
    };
  }

  function reportRefused(code: string, { user, conversation: id }: Owner): void {
    notifyOf(setup.onEvent, { kind: "sync:conversation", id, outcome: "refused", code, user }, env);
  }

  async function ask(owner: Pick<Owner, "user" | "userName">, asked: IndexRequest): Promise<IndexAnswer> {
    return await askIndex(await readBinding("conversations", setup.namespace, env), owner, asked);
  }

  /** Removes the conversation for good. One that the index doesn't know either leaves nothing behind. */
  async function remove(request: Request, owner: Owner): Promise<Response> {
    await bell.ready();
    const untouched = request.headers.get(UNTOUCHED);
    const known = current();
    if (untouched !== null && known && known.touchedAt > Number(untouched))
      return Response.json({ touchedAt: known.touchedAt });
    if (known && known.goneAt !== null && known.noted !== UNTOLD) return Response.json({});
    if (!known) {
      const { isKnown } = await ask(owner, { do: "gone", id: owner.conversation });
      if (!isKnown) return Response.json({});
    }
    tables.create();
    await wakeBy(Date.now() + RETRY_MS);
    empty(current() ?? beginState(sql, owner, Date.now()));
    await notes.tellGone(owner);
    return Response.json({});
  }

  /** Deletes all records, and keeps a mark. */
  function empty(known: CollectionState): void {
    if (known.goneAt !== null) return;
    running.runs?.drop();
    emptyTables(sql, known);
    collection.end();
  }

  async function erase(): Promise<Response> {
    erasures += 1;
    running.runs?.drop();
    bell.forget();
    collection.end();
    await tables.deleteAll();
    return new Response(null, { status: 204 });
  }

  async function alarm(): Promise<void> {
    bell.forget();
    const known = current();
    if (!known) return await tables.deleteAll();
    const next = await toldIndex(() => notes.tell(known, Date.now()));
    if (next !== undefined) await wakeBy(next);
    await running.runs?.alarm();
  }
}

/** Tells the index what is new. Returns the time of the next attempt, if there is one. */
async function toldIndex(tell: () => Promise<number | undefined>): Promise<number | undefined> {
  try {
    return await tell();
  } catch (error) {
    logError(`conversations: the index of a user can't be reached; it is told again: ${error}`);
    return Date.now() + RETRY_MS;
  }
}

/** Leaves nothing but a mark. The tables are made anew, which costs the same however many rows there were. */
function emptyTables(sql: ObjectSQL, known: CollectionState): void {
  for (const table of ["turns", "notices"]) sql.exec(`DELETE FROM ${table}`);
  for (const table of ["records", "removed", "leases"]) sql.exec(`DROP TABLE ${table}`);
  for (const statement of RECORD_TABLES) sql.exec(statement);
  const nothing = { bytes: 0, records: 0, removals: 0, granted: 0, noted: UNTOLD };
  writeState(sql, { ...known, ...nothing, goneAt: Date.now() });
}
