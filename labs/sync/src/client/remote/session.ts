import { APIError, type Client, type RecordStorage } from "@sluice/core";
import { createBackoff, rejectOnAbort, toError, toIdleClock } from "@sluice/core/extend";
import type { ServerSentEvent } from "@sluice/core/sse";
import { addAbortListener } from "../base.js";
import {
  type LeaseNews,
  leasesIn,
  pageIn,
  passedIn,
  type RecordsPage,
  type ServerRecord,
} from "./answers.js";
import { follow } from "./follow.js";
import type { Line } from "./line.js";
import type { Outbox } from "./outbox.js";
import { stateNameOf } from "./place.js";
import type { Replica } from "./replica.js";
import { withStream } from "./streams.js";
import { doubtsIn, STATE, type SyncState, sinceOf, stateIn } from "./sync-state.js";
import { isGone, type Wire } from "./wire.js";

/** Time after which a connection counts as good, also if nothing came, in milliseconds. */
const GOOD_MS = 20_000;
/** Time between two reads of a conversation that is not followed, in milliseconds. */
const POLL_MS = 30_000;
/** The same where the other tabs of the browser have all streams that it may have, in milliseconds. */
const CROWDED_POLL_MS = 5_000;
/** The news each half minute without a stream, which brings none: a lock that is waited for is asked for again. */
const SOME_FREE: LeaseNews = new Map([["", null]]);

/** Parts of the reading of one collection. */
export interface SessionOptions {
  readonly client: Client;
  readonly local: RecordStorage;
  readonly wire: Wire;
  readonly line: Line;
  readonly outbox: Outbox;
  readonly replica: Replica;
  /** Returns true while this collection may have a connection of its own. */
  readonly mayFollow: () => boolean;
  /** Calls `listener` when `mayFollow` may have changed. Returns a function that ends the subscription. */
  readonly onTurn: (listener: () => void) => () => void;
  /** Called when the first records are here, or there are none. */
  readonly onFirst: () => void;
  /** Called with `true` while records are read, and with the error that stopped it. */
  readonly onState: (isReading: boolean, error?: Error) => void;
  /** Called with this user as a member, before the records of the same answer. */
  readonly onPassed: (records: ReadonlyMap<string, unknown>) => void;
  readonly onLeases: (leases: LeaseNews) => void;
  readonly onGone: () => Promise<void>;
}

/** Reads what the server has, and follows it, until the signal aborts. Never rejects. */
export async function runSession(options: SessionOptions, signal: AbortSignal): Promise<void> {
  const { client, line, replica, onState } = options;
  const clock = toIdleClock(client.clock);
  const backoff = createBackoff(
    { clock, random: client.random },
    { limit: Number.POSITIVE_INFINITY, firstMs: 1000, longestMs: 60_000 },
  );
  let toldAt = clock.now();
  try {
    while (!signal.aborted) {
      let failure: unknown;
      try {
        await line.ready(signal);
        onState(true);
        const version = await catchUp(options, signal);
        line.worked();
        onState(false);
        const follow = () => followFrom(options, version, signal, () => backoff.reset());
        const mayFollow = options.mayFollow();
        const isFollowed = mayFollow && (await withStream(client, follow));
        if (!isFollowed) {
          await clock.sleep(mayFollow ? CROWDED_POLL_MS : POLL_MS, signal);
          backoff.reset();
          if (clock.now() - toldAt >= POLL_MS) {
            toldAt = clock.now();
            options.onLeases(SOME_FREE);
          }
        }
      } catch (error) {
        if (signal.aborted) return;
        if (isGone(error)) return await options.onGone();
        failure = error;
        onState(false, toError(error));
        if (await line.failed(error)) continue;
      }
      // also after a connection that ended well at once
      await backoff.wait(failure, { signal });
    }
  } catch {
    // it was stopped while it waited
  } finally {
    replica.noteVersion(0);
    onState(false);
  }
}

/**
 * Reads the difference once; the newest records where nothing is here.
 *
 * @param isFollowing true in the tab that follows the server
 * @throws the errors of the requests
 */
export async function readDifference(
  session: SessionOptions,
  isFollowing: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { replica } = session;
  // the tab that follows has these records, too, or newer ones: no later news would mend what is stored over them
  const asked = { at: replica.now(), isStored: isFollowing };
  const options = {
    ...session,
    replica: { ...replica, take: (records: Records) => replica.take(records, asked) },
  };
  const { state, doubts } = await readState(options);
  const first = await readPage(options, state ? { since: sinceOf(state, doubts) } : {}, signal);
  await (state ? takePages(options, first, signal) : take(options, first.records, signal));
}

/** Brings the copy to the server's version, and settles what tabs that were closed have left in doubt. */
async function catchUp(options: SessionOptions, signal: AbortSignal): Promise<number> {
  const { client, local, replica } = options;
  // the copy is read meanwhile
  const [{ state, doubts, doubtsKeys }] = await Promise.all([readState(options), replica.load()]);
  for (const key of doubts.keys()) replica.doubt(key);
  const version = await readAll(options, state, state && sinceOf(state, doubts), signal);
  await replica.forgetPassed();
  const settled = new Map(doubtsKeys.map((key) => [key, undefined]));
  if (settled.size > 0) await local.write(stateNameOf(client, replica.place), settled);
  return version;
}

/** @param since version from which on records are read, where there is a state */
async function readAll(
  options: SessionOptions,
  state: SyncState | undefined,
  since: number | undefined,
  signal: AbortSignal,
): Promise<number> {
  const { replica } = options;
  const all = await replica.load();
  // chats that were kept before the server was there, and those that it has lost
  if (!state && all.size > 0) await replica.sendAll();
  if (!state) return readWhole(options, all.size === 0, undefined, signal);
  const first = await readPage(options, { since: since ?? state.version }, signal);
  if (first.version < state.version) {
    // the server was restored from a backup: what it lacks is sent
    await forgetState(options);
    return readAll(options, undefined, undefined, signal);
  }
  if (first.isWhole) return readWhole(options, false, first, signal, true);
  const version = await takePages(options, first, signal);
  const next = { ...state, version };
  await writeState(options, next, signal);
  if (state.cursor !== undefined) return readOlder(options, next, signal);
  replica.noteVersion(version);
  options.onFirst();
  return version;
}

/**
 * Reads all records, the newest first.
 *
 * @param isFresh true where nothing was here before: the pages that are still to come can be read later
 * @param removesOthers true where the server has forgotten what was removed: what it does not list is gone
 */
async function readWhole(
  options: SessionOptions,
  isFresh: boolean,
  given: RecordsPage | undefined,
  signal: AbortSignal,
  removesOthers = false,
): Promise<number> {
  const { replica, outbox } = options;
  const { collection } = replica.place;
  const first = given ?? (await readPage(options, {}, signal));
  const { version, next } = first;
  const listed = new Set(first.records.keys());
  await take(options, first.records, signal);
  options.onFirst();
  if (isFresh && next !== undefined) {
    const state = { version, cursor: next };
    await writeState(options, state, signal);
    return readOlder(options, state, signal);
  }
  const list = (records: ReadonlyMap<string, ServerRecord>) => {
    for (const key of records.keys()) listed.add(key);
  };
  await takePages(options, { ...first, records: new Map() }, signal, list);
  if (removesOthers) {
    // what was written meanwhile has left its place, and is on no page
    if (version > 0)
      await takePages(options, await readPage(options, { since: version }, signal), signal, list);
    const gone = [...(await replica.load()).keys()].filter(
      (key) => !listed.has(key) && !outbox.of(collection).has(key),
    );
    await take(options, new Map(gone.map((key) => [key, { version, value: undefined }])), signal);
  }
  return endWhole(options, version, signal);
}

/** Reads the pages of older records that are still to come. A page that was closed meanwhile goes on where it stood. */
async function readOlder(options: SessionOptions, state: SyncState, signal: AbortSignal): Promise<number> {
  let { cursor } = state;
  options.onFirst();
  while (cursor !== undefined) {
    const page: RecordsPage = await readPage(options, { cursor }, signal).catch(async (error) => {
      // the server knows this cursor no more
      if (error instanceof APIError && error.status === 400) await forgetState(options);
      throw error;
    });
    await take(options, page.records, signal);
    if (page.next === cursor) throw new Error("the server gives the same page again");
    cursor = page.next;
    if (cursor !== undefined) await writeState(options, { ...state, cursor }, signal);
  }
  return endWhole(options, state.version, signal);
}

async function endWhole(options: SessionOptions, version: number, signal: AbortSignal): Promise<number> {
  await writeState(options, { version }, signal);
  options.replica.noteVersion(version);
  return version;
}

/** Takes a page and those behind it. Returns the version that the copy has then. */
async function takePages(
  options: SessionOptions,
  first: RecordsPage,
  signal: AbortSignal,
  onPage: (records: ReadonlyMap<string, ServerRecord>) => void = () => {},
): Promise<number> {
  let page = first;
  for (;;) {
    onPage(page.records);
    await take(options, page.records, signal);
    const { next, isWhole, version } = page;
    // each page of a difference says how far it goes
    if (next === undefined) return version;
    page = await readPage(options, { cursor: next }, signal);
    if (page.isWhole !== isWhole) throw new Error("the server knows the difference no more");
    if (page.next === next) throw new Error("the server gives the same page again");
  }
}

/** Follows the events from a version on. Ends with the connection, or when a whole read is needed. */
async function followFrom(
  options: SessionOptions,
  version: number,
  signal: AbortSignal,
  onProgress: () => void,
): Promise<void> {
  const { client, wire, replica } = options;
  const startedAt = client.clock.now();
  let at = version;
  const ended = new AbortController();
  let isAgain = false;
  const ignore = addAbortListener(signal, () => ended.abort(signal.reason));
  const leave = options.onTurn(() => {
    if (!options.mayFollow()) catchUpAgain();
  });
  try {
    await follow(client, wire, replica.place.id, version, ended.signal, onEvent);
  } catch (error) {
    if (!isAgain || signal.aborted) throw error;
  } finally {
    ignore();
    leave();
    if (client.clock.now() - startedAt >= GOOD_MS) onProgress();
  }

  async function onEvent({ event, data }: ServerSentEvent): Promise<void> {
    if (event === "passed") options.onPassed(passedIn(data));
    if (event === "leases") options.onLeases(leasesIn(data));
    if (event === "gone") await options.onGone();
    if (event !== "records") return;
    const page = pageIn(data);
    // a difference by a request finds out what this means
    if ((page.isWhole && at > 0) || page.next !== undefined || page.version < at) return catchUpAgain();
    await take(options, page.records, ended.signal);
    if (page.version > at) onProgress();
    at = page.version;
    replica.noteVersion(at);
    await writeState(options, { version: at }, ended.signal);
  }

  function catchUpAgain(): void {
    isAgain = true;
    ended.abort(new DOMException("the records are read again", "AbortError"));
  }
}

/** Reads a page. What the session does not wait for any more holds its lock no longer. */
async function readPage(
  { wire, replica }: SessionOptions,
  from: Parameters<Wire["read"]>[1],
  signal: AbortSignal,
): Promise<RecordsPage> {
  return rejectOnAbort(wire.read(replica.place.id, from), signal);
}

/** Takes records, unless the session has ended: what is forgotten must not come back. */
async function take(
  { replica }: SessionOptions,
  records: ReadonlyMap<string, ServerRecord>,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  await replica.take(records);
}

async function readState({ client, local, replica }: SessionOptions) {
  const records = await local.read(stateNameOf(client, replica.place));
  const { doubts, keys: doubtsKeys } = doubtsIn(records);
  return { state: stateIn(records), doubts, doubtsKeys };
}

async function writeState(
  { client, local, replica }: SessionOptions,
  state: SyncState,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  // a conversation that is not there is not known
  if (state.version > 0) await local.write(stateNameOf(client, replica.place), new Map([[STATE, state]]));
}

async function forgetState({ client, local, replica }: SessionOptions): Promise<void> {
  replica.forgetVersions();
  await local.write(stateNameOf(client, replica.place), new Map([[STATE, { version: 0 }]]));
}

type Records = ReadonlyMap<string, ServerRecord>;
