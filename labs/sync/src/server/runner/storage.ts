import type { RecordStorage } from "@sluice/core";
import { Refusal, textOf } from "@sluice/worker-proxy/internal";
import type { Hide } from "./hiding.js";
import type { Changes, RunPlace } from "./place.js";
import {
  claimKey,
  isInFlight,
  isPendingCall,
  LEAF,
  type MessageRecord,
  messageIn,
  reactionKey,
  SERVER,
} from "./records.js";

/** Storage of the chat of one run, over the records of the conversation's object. */
export interface RunStorage extends RecordStorage {
  /** Code of a write that was refused: nothing is sent after it. */
  readonly failure: string | undefined;
  /** Reports records that devices have removed. */
  removed(ids: readonly string[]): void;
  /** Resolves once a call is stored as one that runs. Rejects where it could not be. */
  running(messageId: string | undefined, callId: string): Promise<void>;
  /** Resolves once `isThere` is true after a write, or a write was refused. */
  until(isThere: () => boolean): Promise<void>;
  /** Writes and passes nothing more. */
  close(): void;
}

interface RunStorageOptions {
  readonly place: Pick<RunPlace, "read" | "room" | "write" | "pass" | "state" | "conversation">;
  readonly hide: Hide;
  /** The messages that the chat begins with. */
  readonly path: readonly MessageRecord[];
  /** Called with the newest message in the turn of the write. */
  readonly onTip: (id: string) => void;
  /** Called at each sign of life. */
  readonly onProgress: () => void;
}

/**
 * Shortest time between two rows of an answer that grows, in milliseconds. Devices see it grow by what is passed, and the
 * kept answer of the proxy has the rest after a crash.
 */
const LIVE_MS = 5_000;

/**
 * Opens the storage. It gives the chat no more than the messages of its own thread, so that a long conversation costs no
 * more than a short one, and of the devices' writes only removals: an answer of the run belongs to the run.
 */
export function openRunStorage(options: RunStorageOptions): RunStorage {
  const { place, hide, path, onTip, onProgress } = options;
  const listeners = new Set<(changes: Changes) => void>();
  const waits = new Set<() => void>();
  const liveAt = new Map<string, number>();
  let failure: string | undefined;
  let isClosed = false;
  const isChat = (collection: string) => collection.endsWith(`chat/${place.conversation}`);

  return {
    get failure() {
      return failure;
    },
    async read(collection) {
      if (!isChat(collection)) return new Map();
      const records = path.map((record): [string, unknown] => [record.message.id, record]);
      return new Map([...records, [LEAF, path.at(-1)?.message.id]]);
    },
    async write(collection, changes) {
      if (isClosed || !isChat(collection)) return;
      onProgress();
      await makeRoom(changes);
      if (isClosed) return;
      put(changes);
      for (const look of waits) look();
      if (failure !== undefined) throw new DOMException(failure, "QuotaExceededError");
      // before the request that follows leaves: a process that is lost must find the key of that request
      await place.state.storage.sync();
    },
    watch(collection, listener) {
      if (!isChat(collection)) return () => {};
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    pass(collection, changes) {
      if (isClosed || !isChat(collection)) return;
      onProgress();
      place.pass(new Map([...changes].map(([key, value]) => [key, owned(key, value)])));
    },
    removed(ids) {
      const changes = new Map(ids.map((id) => [id, undefined]));
      for (const listener of listeners) listener(changes);
    },
    until,
    async running(messageId = "", callId) {
      const callsOf = () => messageIn(place.read(messageId))?.message.toolCalls ?? [];
      await until(() => callsOf().some(({ id, state }) => id === callId && state === "running"));
      if (failure !== undefined) throw new DOMException(failure, "QuotaExceededError");
      await place.state.storage.sync();
    },
    close() {
      isClosed = true;
    },
  };

  function until(isThere: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!isThere() && failure === undefined) return;
        waits.delete(look);
        resolve();
      };
      waits.add(look);
      look();
    });
  }

  async function makeRoom(changes: Changes): Promise<void> {
    try {
      await place.room(JSON.stringify([...changes]).length * 3);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      failure = textOf(error).code ?? "space_exceeded";
    }
  }

  function put(changes: Changes): void {
    if (failure !== undefined) return;
    const kept = new Map<string, unknown>();
    const passed = new Map<string, unknown>();
    let tip: string | undefined;
    for (const [key, given] of changes) {
      if (key === LEAF) tip = typeof given === "string" ? given : undefined;
      else if (!key.startsWith("/")) {
        const value = owned(key, given);
        const isSame = JSON.stringify(value) === JSON.stringify(place.read(key));
        if (!isSame) (isLive(key, value) ? passed : kept).set(key, value);
        for (const gone of answeredIn(key, value)) kept.set(gone, undefined);
      }
    }
    if (tip !== undefined && place.read(LEAF) !== tip) kept.set(LEAF, tip);
    if (kept.size > 0) failure = place.write(kept) ?? failure;
    if (passed.size > 0) place.pass(passed);
    if (tip !== undefined && failure === undefined) onTip(tip);
  }

  /** Lists what devices have said about calls that do not wait any more: it goes in the same write. */
  function answeredIn(id: string, value: unknown): string[] {
    const { toolCalls = [] } = messageIn(value)?.message ?? {};
    const ended = toolCalls.filter((call) => !isPendingCall(call));
    const keys = ended.flatMap((call) => [reactionKey(id, call.id), claimKey(id, call.id)]);
    return keys.filter((key) => place.read(key) !== undefined);
  }

  /** Marks an answer of the run, and hides secrets. */
  function owned(key: string, value: unknown): unknown {
    const record = messageIn(value);
    if (!record) return value;
    const known = messageIn(place.read(key));
    const isOwn =
      record.message.role === "assistant" && (!known || known.by === SERVER || isInFlight(record.message));
    return hide(isOwn ? { ...(value as object), by: SERVER } : value);
  }

  /** True for an answer that has only grown since its last row. */
  function isLive(key: string, value: unknown): boolean {
    const next = messageIn(value)?.message;
    const known = messageIn(place.read(key))?.message;
    if (!next || !known || !isInFlight(next) || !isInFlight(known)) return false;
    if (next.streamId !== known.streamId || next.idempotencyKey !== known.idempotencyKey) return false;
    const now = Date.now();
    if (now - (liveAt.get(key) ?? 0) < LIVE_MS) return true;
    liveAt.set(key, now);
    return false;
  }
}
