import type { ObjectState } from "../objects/object.js";
import type { openCollection } from "./collection.js";
import { noteNews } from "./news.js";
import type { ConversationsSetup } from "./options.js";
import type { CollectionState, Owner } from "./record-tables.js";
import { conversationRefusal } from "./refusals.js";
import type { KeptUser, RunPlace, Runs } from "./runner/place.js";
import { turnRefusal } from "./runner/refusals.js";
import { openTurnRows } from "./runner/rows.js";
import { countSchedules } from "./runner/schedule/schedule-rows.js";
import { sealedBy } from "./sharing/authors.js";
import type { Viewer } from "./sharing/viewer.js";
import { bytesOf, type Change, type Seal, type Taken, writeRecords } from "./writing.js";

/** A turn as the proxy hands it to the object. */
export interface TurnAsked {
  readonly body: Readonly<Record<string, unknown>>;
  readonly user: KeptUser;
  readonly requestId?: string | undefined;
}

/** The device of what a run writes. */
const SERVER = "server";

interface RunningParts<Env> {
  readonly state: ObjectState;
  readonly env: Env;
  readonly setup: ConversationsSetup<Env>;
  readonly collection: ReturnType<typeof openCollection>;
  makeRoom(owner: Owner, bytes: number): Promise<() => number>;
  wakeBy(at: number): Promise<void>;
  /** Returns a user as a member; undefined where the conversation was never shared. */
  memberOf(user: string | undefined, known: CollectionState): Viewer | undefined;
  /** Checks after a wait that the viewer still may. @throws {Refusal} */
  confirm(viewer: Viewer | undefined): void;
  claimSchedules(owner: Owner, number: number, most: number): Promise<boolean>;
  titleOf(owner: Owner): Promise<string | undefined>;
  /** Called in the turn of a write, with what has changed. */
  changed(taken: readonly Taken[], owner: Owner): void;
}

/** Joins the runs of a conversation with the records of its object. There are none without a `runner`. */
export function openRunning<Env>(parts: RunningParts<Env>) {
  const {
    state,
    env,
    setup,
    collection,
    makeRoom,
    claimSchedules,
    titleOf,
    wakeBy,
    memberOf,
    confirm,
    changed,
  } = parts;
  const { sql } = state.storage;
  const turns = openTurnRows(sql);
  let runs: Runs | undefined;
  /** The user whose turn begins now. */
  let beginner: string | undefined;
  return {
    /** Answers `POST` and `DELETE` of `/turns`. */
    async answer(request: Request, owner: Owner, viewer: Viewer | undefined): Promise<Response> {
      if (request.method === "DELETE") {
        opened()?.stop();
        return new Response(null, { status: 204 });
      }
      const { body, ...caller } = (await request.json()) as TurnAsked;
      await room(owner, bytesOf(JSON.stringify(body)));
      confirm(viewer);
      beginner = caller.user.id;
      const begun = opened()?.begin(body, { ...caller, ...payerFor(owner, viewer) });
      beginner = undefined;
      return Response.json(await begun, { status: 202 });
    },
    /** Stops the turn that a user has begun. */
    stopTurnOf(user: string): void {
      if (turns.open()?.user.id === user) opened()?.stop();
    },
    answerSchedules,
    /** The runs, where there is anything to run. */
    get runs() {
      return opened();
    },
  };

  /** Returns the user who pays for a member, where that is the owner. */
  function payerFor({ user }: Owner, viewer: Viewer | undefined): { readonly payer?: KeptUser } {
    const isOfMember = viewer !== undefined && viewer.access !== "owner";
    return isOfMember && setup.sharing?.payer === "owner" ? { payer: { id: user } } : {};
  }

  /** Answers `GET`, `POST` and `DELETE` of `/schedules`, for the owner alone. The first schedule begins its conversation. */
  async function answerSchedules(
    request: Request,
    owner: Owner,
    viewer: Viewer | undefined,
  ): Promise<Response> {
    // it would outlive the rights of a member
    if (viewer && viewer.access !== "owner") throw conversationRefusal("owner_only");
    if (request.method === "POST") {
      const { body, user } = (await request.json()) as TurnAsked;
      await room(owner, bytesOf(JSON.stringify(body)));
      return Response.json({ schedule: await opened()?.schedules.ask(body, user.id) });
    }
    if (request.method === "GET") return Response.json({ schedules: opened()?.schedules.list() ?? [] });
    const { schedule } = JSON.parse(decodeURIComponent(new URL(request.url).search.slice(1) || "{}"));
    opened()?.schedules.remove(schedule);
    return new Response(null, { status: 204 });
  }

  function opened(): Runs | undefined {
    const owner = setup.runner && collection.current();
    if (!owner || owner.goneAt !== null) return undefined;
    runs ??= setup.runner?.open(placeOf(owner));
    return runs;
  }

  function placeOf(owner: Owner): RunPlace<Env> {
    return {
      state,
      env,
      conversation: owner.conversation,
      read(key) {
        const [row] = sql.exec("SELECT value FROM records WHERE key = ?", key).toArray();
        return row && JSON.parse(String(row["value"]));
      },
      room: (bytes) => room(owner, bytes),
      title: () => titleOf(owner),
      claimSchedules: (more, most) => claimSchedules(owner, countSchedules(sql) + more, most),
      write(changes) {
        if (changes.size === 0) return undefined;
        const all = [...changes].map(([key, value = null]): [string, Change] => [
          key,
          { value, seen: Number.MAX_SAFE_INTEGER },
        ]);
        const bounds = {
          mostRecords: setup.recordsPerConversation,
          mostBytes: Number.POSITIVE_INFINITY,
          seal: sealOfTurn(),
          note: noteNews,
        };
        const written = writeRecords(sql, Object.fromEntries(all), bounds, Date.now());
        if (written.changed.length > 0) {
          changed(written.changed, owner);
          collection.wake();
        }
        return written.refused[0]?.[1];
      },
      pass: (records) =>
        void collection.pass({ device: SERVER, records: Object.fromEntries(records) }, authorOfTurn()),
      wakeBy: (at) => void wakeBy(at),
    };
  }

  /** Makes the check by which what a turn adds has the author of the turn. */
  function sealOfTurn(): Seal | undefined {
    const author = authorOfTurn();
    return author && sealedBy(author);
  }

  function authorOfTurn(): Viewer | undefined {
    const known = collection.current();
    return known?.share ? memberOf(beginner ?? turns.open()?.user.id, known) : undefined;
  }

  /** @throws {Refusal} where there is no room, or the conversation is gone */
  async function room(owner: Owner, bytes: number): Promise<void> {
    const granted = (await makeRoom(owner, bytes))();
    const known = collection.current();
    if (known && known.bytes + bytes > granted)
      throw turnRefusal("turn_not_kept", { what: "space_exceeded" });
  }
}
