import type { ObjectState } from "@sluice/durable";
import type { openCollection } from "./collection.js";
import { noteNews } from "./news.js";
import type { ConversationsSetup } from "./options.js";
import type { Owner } from "./record-tables.js";
import type { KeptUser, RunPlace, Runs } from "./runner/place.js";
import { turnRefusal } from "./runner/refusals.js";
import { bytesOf, type Change, type Taken, writeRecords } from "./writing.js";

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
  titleOf(owner: Owner): Promise<string | undefined>;
  /** Called in the turn of a write, with what has changed. */
  changed(taken: readonly Taken[], owner: Owner): void;
}

/** Joins the runs of a conversation with the records of its object. There are none without a `runner`. */
export function openRunning<Env>(parts: RunningParts<Env>) {
  const { state, env, setup, collection, makeRoom, titleOf, wakeBy, changed } = parts;
  const { sql } = state.storage;
  let runs: Runs | undefined;
  return {
    /** Answers `POST` and `DELETE` of `/turns`. */
    async answer(request: Request, owner: Owner): Promise<Response> {
      if (request.method === "DELETE") {
        opened()?.stop();
        return new Response(null, { status: 204 });
      }
      const { body, ...caller } = (await request.json()) as TurnAsked;
      await room(owner, bytesOf(JSON.stringify(body)));
      return Response.json(await opened()?.begin(body, caller), { status: 202 });
    },
    /** The runs, where there is anything to run. */
    get runs() {
      return opened();
    },
  };

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
      write(changes) {
        if (changes.size === 0) return undefined;
        const all = [...changes].map(([key, value = null]): [string, Change] => [
          key,
          { value, seen: Number.MAX_SAFE_INTEGER },
        ]);
        const bounds = {
          mostRecords: setup.recordsPerConversation,
          mostBytes: Number.POSITIVE_INFINITY,
          note: noteNews,
        };
        const written = writeRecords(sql, Object.fromEntries(all), bounds, Date.now());
        if (written.changed.length > 0) {
          changed(written.changed, owner);
          collection.wake();
        }
        return written.refused[0]?.[1];
      },
      pass: (records) => void collection.pass({ device: SERVER, records: Object.fromEntries(records) }),
      wakeBy: (at) => void wakeBy(at),
    };
  }

  /** @throws {Refusal} where there is no room, or the conversation is gone */
  async function room(owner: Owner, bytes: number): Promise<void> {
    const granted = (await makeRoom(owner, bytes))();
    const known = collection.current();
    if (known && known.bytes + bytes > granted)
      throw turnRefusal("turn_not_kept", { what: "space_exceeded" });
  }
}
