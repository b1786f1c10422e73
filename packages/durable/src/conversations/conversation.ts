import { logError, notifyOf, readBinding } from "@sluice/worker-proxy/internal";
import {
  type DurableObjectHandlers,
  type ObjectSQL,
  type ObjectState,
  refusedBy,
} from "../objects/object.js";
import { objectRefusal } from "../objects/refusals.js";
import { createTables } from "../objects/tables.js";
import { ERASE } from "../objects/user-objects.js";
import { openAlarm } from "./alarm.js";
import { answerFrom, openCollection } from "./collection.js";
import { openIndexNotes, UNTOLD } from "./index-notes.js";
import { noteNews } from "./news.js";
import type { ConversationsSetup } from "./options.js";
import {
  beginState,
  type CollectionState,
  NEWS_COLUMNS,
  type Owner,
  RECORD_TABLES,
  STATE_TABLE,
  writeState,
} from "./record-tables.js";
import { openRoom } from "./room.js";
import { NOTICE_TABLES } from "./runner/notice-rows.js";
import { TURN_TABLES } from "./runner/rows.js";
import { countSchedules, SCHEDULE_TABLES } from "./runner/schedule/schedule-rows.js";
import { openRunning } from "./running.js";
import { sealedBy } from "./sharing/authors.js";
import { openSharing } from "./sharing/sharing.js";
import { SHARING_TABLES } from "./sharing/tables.js";
import { closed } from "./sockets.js";
import { askIndex, type IndexAnswer, type IndexRequest, ownerOf } from "./wire.js";

const CONVERSATION_TABLES = {
  first: "records",
  isShared: true,
  steps: [
    [...RECORD_TABLES, STATE_TABLE],
    TURN_TABLES,
    [...NEWS_COLUMNS, ...SHARING_TABLES],
    SCHEDULE_TABLES,
    NOTICE_TABLES,
  ],
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
    sealFor: sealedBy,
    confirm: (viewer) => sharing.confirm(viewer),
    note: noteNews,
    changed(taken) {
      noteSoon();
      running.runs?.changed(new Map(taken.map(({ key, value }) => [key, value ?? undefined])));
    },
    refused: (_, code, owner) => reportRefused(code, owner),
  });
  const { current } = collection;
  const sharing = openSharing({
    ...{ state, env, setup, collection, makeRoom, wakeBy, ask },
    stopTurnOf: (user) => running.stopTurnOf(user),
  });
  const { memberOf, confirm } = sharing;
  const notes = openIndexNotes({ sql, current, ask, empty, tellMembers: sharing.tell });
  const running = openRunning({
    ...{ state, env, setup, collection, makeRoom, claimSchedules, wakeBy, memberOf, confirm },
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
      const viewer = sharing.viewerOf(request, owner);
      const { pathname } = new URL(request.url);
      if (request.method === "DELETE" && pathname === "/")
        return viewer && viewer.access !== "owner"
          ? sharing.leave(owner, viewer)
          : await remove(request, owner);
      if (pathname === "/turns") return await running.answer(request, owner, viewer);
      if (pathname === "/schedules") return await running.answerSchedules(request, owner, viewer);
      return (
        (await sharing.answer(request, owner, viewer)) ??
        (await answerFrom(collection, request, owner, viewer))
      );
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

  /** Has the index count the schedules of this conversation. Returns false where the user has as many as `most`. */
  async function claimSchedules(owner: Owner, number: number, most: number): Promise<boolean> {
    const checkErasure = watchErasure();
    const { isFull } = await ask(owner, { do: "schedules", id: owner.conversation, number, most });
    checkErasure();
    return !isFull;
  }

  function reportRefused(code: string, { user, conversation: id, by }: Owner): void {
    const about = { user: by?.user ?? user, ...(by && by.user !== user && { owner: user }) };
    notifyOf(setup.onEvent, { kind: "conversation", id, outcome: "refused", code, ...about }, env);
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
    // what is to be written later is no conversation that nobody writes to
    if (untouched !== null && known?.goneAt === null && countSchedules(sql) > 0)
      return Response.json({ touchedAt: Date.now() });
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
    sharing.end();
    emptyTables(sql, known);
    collection.end();
  }

  async function erase(): Promise<Response> {
    erasures += 1;
    running.runs?.drop();
    bell.forget();
    collection.end();
    const known = current();
    // members lose it first: what can't be told now is told by the next erasure
    if (known?.share) empty(known);
    await sharing.erase();
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
  for (const table of ["turns", "schedules", "notices"]) sql.exec(`DELETE FROM ${table}`);
  for (const table of ["records", "removed", "leases"]) sql.exec(`DROP TABLE ${table}`);
  for (const statement of RECORD_TABLES) sql.exec(statement);
  const nothing = { bytes: 0, records: 0, removals: 0, granted: 0, noted: UNTOLD };
  writeState(sql, { ...known, ...nothing, goneAt: Date.now() });
}
