import type { SyncStatus } from "@sluice/core";
import { createListeners } from "@sluice/core/extend";
import { addUserPrefix, isLocked, reportStorageFailure, withLock } from "@sluice/stores/extend";
import type { DeviceLock } from "../devices/device-lock.js";
import type { ServerRecord } from "./answers.js";
import { createGate, readCollection } from "./first-read.js";
import { takeLock } from "./locks.js";
import { createPassing } from "./passing.js";
import { CONVERSATIONS, type Place, stateNameOf } from "./place.js";
import { type Asked, createReplica, type Replica } from "./replica.js";
import { readDifference, runSession, type SessionOptions } from "./session.js";
import { createSettling } from "./settling.js";
import { mayFollow, type Shared } from "./shared.js";
import { createStatus, type StatusControl } from "./status.js";
import { STATE, stateIn } from "./sync-state.js";
import { whileShown } from "./while-shown.js";

type Records = ReadonlyMap<string, unknown>;

/** Key of the record with the last shown message: a user would not count it. */
const LEAF = "/leaf";

/** One collection of a page, with its sync. */
export interface Collection {
  readonly replica: Replica;
  readonly status: StatusControl;
  read(): Promise<Records>;
  write(changes: Records): Promise<void>;
  /** Takes records of the server, and follows what they say. */
  take(records: ReadonlyMap<string, ServerRecord>): Promise<void>;
  pass(changes: Records): void;
  lock(name: string): Promise<DeviceLock | undefined>;
  watchLocks(listener: () => void): () => void;
  /** The conversation was removed for good: forgets its copy. */
  gone(): Promise<void>;
  /** Ends the sync, and forgets what is in memory. Returns a function that begins it again. */
  stop(): () => void;
  /** The state may have changed. */
  changed(): void;
}

/** Creates a collection. Nothing is read or sent before its first use. */
export function createCollection(shared: Shared, place: Place): Collection {
  const { client, local, wire, line, outbox, sender, watched, turns } = shared;
  const { name, collection, id } = place;
  const stateName = stateNameOf(client, place);
  const lockName = addUserPrefix(client, `sluice/remote/${collection}`);
  const lockNews = createListeners<[]>();
  const passOn = createPassing(client, wire, line, id);
  let isReading = false;
  let readError: Error | undefined;
  let isLeading = false;
  let isGone = false;
  let open = new AbortController();
  let first = createGate();
  const status = createStatus(() => statusOf(shared, collection, { isReading, readError }));
  const onUnsure = createSettling(
    () => session,
    () => open.signal,
  );
  const replica = createReplica({ local, outbox, place, onDue: due, onUse: begin, onUnsure });
  const session: SessionOptions = {
    ...shared,
    replica: { ...replica, take },
    mayFollow: () => mayFollow(shared, collection),
    onTurn: turns.subscribe,
    onFirst: () => first.open(),
    onState(isReadingNow, error) {
      isReading = isReadingNow;
      readError = error;
      if (error) first.open();
      status.changed();
    },
    onPassed(records) {
      replica.show(records);
      local.pass?.(name, records);
    },
    onLeases(leases) {
      if ([...leases.values()].includes(null)) lockNews.notify();
      local.pass?.(stateName, new Map([[LEASES, [...leases]]]));
    },
    onGone: gone,
  };
  return {
    replica,
    status,
    read: () => readCollection(shared, replica, first, elsewhere),
    write: (changes) => replica.write(changes, line.isLocal || isGone ? "removals" : "all"),
    take,
    pass: (changes) => {
      if (!isGone) passOn(changes);
    },
    lock,
    watchLocks(listener) {
      const stops = [lockNews.subscribe(listener), line.subscribe(() => !line.error && listener())];
      return () => {
        for (const stop of stops) stop();
      };
    },
    gone,
    stop() {
      open.abort(null);
      replica.reset();
      return () => {
        if (replica.watchers() > 0) start();
      };
    },
    changed: status.changed,
  };

  function due(): void {
    sender.wake();
    status.changed();
  }

  /** Reads from the server where another tab follows it: its first records may be long here, or on their way. */
  async function elsewhere(): Promise<void> {
    if ((await isLocked(client, lockName)) && !isLeading)
      await readDifference(session, isLeading, open.signal);
    else await first.opened;
  }

  async function take(records: ReadonlyMap<string, ServerRecord>, asked?: Asked): Promise<void> {
    await replica.take(records, asked);
    status.changed();
    if (collection !== CONVERSATIONS) return;
    for (const [key, { value }] of records) if (value === undefined) await shared.forgetChat(key);
  }

  /** Begins the sync with the first watcher. */
  function begin(): () => void {
    watched.add(collection);
    const stopState = local.watch(stateName, (news) => {
      if (news.has(STATE) || news.has(LEASES)) first.open();
      replica.noteFollowed(stateIn(news)).catch(() => {});
      if (isFreed(news.get(LEASES))) lockNews.notify();
    });
    start();
    turns.notify();
    return () => {
      watched.delete(collection);
      open.abort(null);
      stopState();
      turns.notify();
    };
  }

  function start(): void {
    open = new AbortController();
    first = createGate();
    void inOneTab(shared, lockName, open.signal, () => isGone, follow);
  }

  async function follow(shown: AbortSignal): Promise<void> {
    isLeading = true;
    await runSession(session, shown).finally(() => {
      isLeading = false;
    });
  }

  function lock(lockOf: string): Promise<DeviceLock | undefined> {
    return takeLock(
      {
        ...shared,
        place,
        hold: () => sender.hold(collection),
        flush: (ms) => sender.flush(collection, ms),
        async pull(version) {
          if (version !== undefined && version <= replica.version()) return;
          await readDifference(session, isLeading, new AbortController().signal);
        },
      },
      lockOf,
    );
  }

  async function gone(): Promise<void> {
    if (isGone) return;
    isGone = true;
    open.abort(null);
    await removeCopy(shared, replica);
    status.changed();
  }
}

/** Runs `act` in one tab at a time, while its page is shown, until all is over. Never rejects. */
async function inOneTab(
  { client }: Shared,
  name: string,
  signal: AbortSignal,
  isGone: () => boolean,
  act: (shown: AbortSignal) => Promise<void>,
): Promise<void> {
  try {
    while (!signal.aborted && !isGone())
      await whileShown(client, signal, (shown) => withLock(client, name, shown, () => act(shown)));
  } catch (error) {
    if (!signal.aborted) reportStorageFailure(client, error);
  }
}

/** Computes the state of a collection. */
function statusOf(
  { line, outbox, sender }: Shared,
  collection: string,
  { isReading, readError }: { isReading: boolean; readError: Error | undefined },
): SyncStatus {
  const entries = [...outbox.of(collection)];
  const refusal = entries.find(([, entry]) => entry.refusal)?.[1].refusal;
  const error = line.isLocal ? undefined : (line.error ?? readError ?? refusal);
  const isBusy = isReading || sender.isBusy(collection);
  return {
    isSyncing: !line.isLocal && !line.error && isBusy,
    unsent: line.isLocal ? 0 : entries.filter(([key]) => key !== LEAF).length,
    ...(error && { error }),
  };
}

/**
 * Removes the copy of a conversation that was removed for good, with what was not sent. What this browser has written
 * without ever having read the conversation is another one of the same id, and stays here.
 */
async function removeCopy({ client, local, outbox }: Shared, replica: Replica): Promise<void> {
  const { name, collection, id } = replica.place;
  const stateName = stateNameOf(client, replica.place);
  const state = await local.read(stateName);
  if (state.size === 0 && outbox.of(collection).size > 0) {
    await outbox.clear(collection);
    const remedy = "what is written to it stays in this browser; begin a conversation with a new id";
    return reportStorageFailure(
      client,
      new Error(`the conversation ${id} was removed on the server: ${remedy}`),
    );
  }
  const unsent = [...outbox.of(collection)].filter(
    ([key, { value, isCopy }]) => key !== LEAF && value !== undefined && !isCopy,
  );
  await outbox.clear(collection);
  const keys = [...(await local.read(name)).keys()];
  await replica.keep(new Map(keys.map((key) => [key, undefined])));
  await local.write(stateName, new Map([...state.keys()].map((key) => [key, undefined])));
  if (unsent.length === 0) return;
  const lost = `${unsent.length} unsent change${unsent.length === 1 ? " was" : "s were"} not kept`;
  reportStorageFailure(client, new Error(`the conversation ${id} was removed on another device: ${lost}`));
}

const LEASES = "leases";

function isFreed(leases: unknown): boolean {
  return Array.isArray(leases) && leases.some((lease) => Array.isArray(lease) && lease[1] === null);
}
