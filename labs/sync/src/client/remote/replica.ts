import type { RecordStorage } from "@sluice/core";
import { createListeners } from "@sluice/core/extend";
import { isEqual, parseRecords, stringifyRecords } from "@sluice/stores/extend";
import type { ServerRecord } from "./answers.js";
import { type Borrowed, createBorrowed } from "./borrowed.js";
import { type CopyPart, createCopy, type Listener } from "./copy.js";
import { joinRecords } from "./join.js";
import type { Outbox, OutboxEntry } from "./outbox.js";
import type { Place } from "./place.js";
import type { Doubts } from "./sync-state.js";

type Records = ReadonlyMap<string, unknown>;

/** The copy of one collection in this page: it joins what is written here with what comes from elsewhere. */
export interface Replica extends CopyPart {
  readonly place: Place;
  /** Calls `listener` with what others change. */
  watch(listener: Listener, onRefusal?: (error: unknown) => void): () => void;
  /**
   * Writes records, and puts them into the outbox.
   *
   * @param noted changes that go to the server: only removals where it keeps no conversations
   */
  write(changes: Records, noted: "all" | "removals"): Promise<void>;
  /**
   * Takes the server's records, and writes what they change into the local storage.
   *
   * @param asked the request, where it is not of the tab that follows
   */
  take(records: ReadonlyMap<string, ServerRecord>, asked?: Asked): Promise<void>;
  /** Moment in the order of what other tabs write. */
  now(): number;
  /** Version of the newest record that this page has sent or got; 0 for none. */
  readonly newest: () => number;
  /** Calls `listener` with the versions of what is sent from now on. Returns a function that ends the subscription. */
  onSent(listener: (version: number) => void): () => void;
  /** Notes the versions of changes that the server has taken. */
  noteTaken(taken: ReadonlyMap<string, number>): void;
  /** Notes the state of the sync that the tab that follows has written. */
  readonly noteFollowed: Borrowed["noteFollowed"];
  /** True while the local storage may have another tab's value of this record. */
  isUnsure(key: string): boolean;
  /** Notes that the local storage may have an older value of a record: the next news of it is stored. */
  doubt(key: string): void;
  /** Takes over the changes of a closed page, which another tab may have written over in the local storage. */
  adopt(entries: ReadonlyMap<string, OutboxEntry>): Promise<void>;
  /** Version up to which all records are in the copy; 0 where that is unknown. */
  readonly version: () => number;
  /** Notes that all records up to this version are in the copy. */
  noteVersion(version: number): void;
  /** Forgets what is known of the server's versions: it has lost them. */
  forgetVersions(): void;
  /** Puts all records into the outbox, as if the server had none of them. It takes those that it has as they are. */
  sendAll(): Promise<void>;
  /** Forgets the versions, and the copy in memory. */
  reset(): void;
}

/** A request for records by a tab that may not be the one that follows. */
export interface Asked {
  /** Moment of the request, of `now`: what other tabs have written since is newer. */
  readonly at: number;
  /** False where the tab that follows writes the records into the local storage: it may have newer ones. */
  readonly isStored: boolean;
}

/** Parts that a replica needs. */
interface ReplicaOptions {
  readonly local: RecordStorage;
  readonly outbox: Outbox;
  readonly place: Place;
  /** Called after something was put into the outbox. */
  readonly onDue: () => void;
  /** Called when the first watcher has come, and when the last one has left. */
  readonly onUse: () => () => void;
  /** Called with the records, if any, of which the local storage may have older values than the server. */
  readonly onUnsure: (doubts: Doubts, afterMs: number) => void;
}

/** Creates the copy of one collection, and its place on the server. Nothing is read before `load`. */
export function createReplica({ local, outbox, place, onDue, onUse, onUnsure }: ReplicaOptions): Replica {
  const { name, collection } = place;
  const copy = createCopy(local, name);
  const borrowed = createBorrowed({ local, outbox, place }, copy);
  /** Keys that another tab has written, too: the local storage may have its value, and is written with the next news. */
  const writtenOver = new Set<string>();
  /** Moments at which other tabs have written, by key. */
  const writtenAt = new Map<string, number>();
  let moment = 0;
  const versions = createVersions();
  const seenOf = (key: string) =>
    Math.max(outbox.of(collection).get(key)?.seen ?? 0, versions.of(key), versions.ofAll());
  let stop: (() => void) | undefined;
  return {
    ...copy.part,
    place,
    watch,
    write,
    take,
    now: () => moment,
    noteTaken(taken) {
      for (const [key, at] of taken) {
        versions.noteSent(key, at);
        outbox.raise(collection, key, at);
      }
      // the server has nothing to say of what it took as the removal of a record that it does not know
      onUnsure(new Map([...taken].filter(([key, at]) => at > 0 && writtenOver.has(key))), 0);
    },
    noteFollowed: borrowed.noteFollowed,
    isUnsure: (key) => writtenOver.has(key),
    doubt: (key) => void writtenOver.add(key),
    async adopt(entries) {
      const here = await (copy.watchers() > 0 ? copy.load() : local.read(name));
      await copy.keep(joinedWithAll(collection, entries, here));
    },
    ...versions.shown,
    async sendAll() {
      const all = new Map<string, OutboxEntry>();
      for (const [key, value] of await copy.load()) all.set(key, { value, seen: 0, isCopy: true });
      for (const [key, { value }] of outbox.of(collection)) all.set(key, { value, seen: 0 });
      await outbox.put(collection, all);
      onDue();
    },
    reset() {
      versions.forget();
      forgetCopy();
    },
  };

  function watch(listener: Listener, onRefusal?: (error: unknown) => void): () => void {
    if (copy.watchers() === 0) {
      const stopLocal = local.watch(name, onLocal, onRefusal);
      const stopUse = onUse();
      stop = () => {
        stop = undefined;
        stopLocal();
        stopUse();
        forgetCopy();
        versions.noteAll(0);
      };
    }
    const leave = copy.subscribe(listener);
    return () => {
      leave();
      if (copy.watchers() === 0) stop?.();
    };
  }

  function forgetCopy(): void {
    copy.forget();
    writtenOver.clear();
    writtenAt.clear();
    borrowed.clear();
  }

  async function write(changes: Records, noted: "all" | "removals"): Promise<void> {
    const given = parseRecords(stringifyRecords(changes));
    const entries = new Map<string, OutboxEntry>();
    const corrected = new Map<string, unknown>();
    for (const [key, value] of given) {
      const joined = joinedWithCopy(collection, key, value, copy.get(key));
      if (joined !== value) corrected.set(key, joined);
      given.set(key, joined);
      const { base = copy.get(key) } = outbox.of(collection).get(key) ?? {};
      copy.set(key, joined);
      if (noted === "all" || joined === undefined)
        entries.set(key, { value: joined, seen: seenOf(key), base });
    }
    // in one task: a page that is closed now writes both
    const kept = [outbox.put(collection, entries), copy.store(given)];
    onDue();
    await Promise.all(kept);
    copy.notify(corrected);
  }

  async function take(
    incoming: ReadonlyMap<string, ServerRecord>,
    { at: askedAt, isStored }: Asked = byFollower,
  ): Promise<void> {
    const changes = new Map<string, unknown>();
    const ahead = new Map<string, OutboxEntry>();
    const settled = new Map<string, OutboxEntry>();
    for (const [key, { version: at, value: theirs }] of incoming) {
      const entry = outbox.of(collection).get(key);
      if ((writtenAt.get(key) ?? 0) > askedAt) continue;
      // in doubt, the newest one that is known is news; what a closed page has left may not know what this page knows
      if (versions.of(key) >= at + Number(writtenOver.has(key)) && !(entry && entry.seen < at)) continue;
      versions.note(key, at);
      const mine = entry ?? (copy.has(key) ? { value: copy.get(key) } : undefined);
      const { value, isAhead } = mine
        ? joinRecords(collection, key, mine.value, theirs, entry !== undefined, entry?.base)
        : { value: theirs, isAhead: false };
      if (isAhead) ahead.set(key, { value, seen: at, base: theirs });
      else if (entry) settled.set(key, entry);
      const isHere = isEqual(copy.get(key), value) && (value !== undefined || !copy.isShown(key));
      if (writtenOver.delete(key) || !isHere) changes.set(key, value);
      copy.set(key, value);
    }
    copy.notify(changes);
    if (!isStored) borrowed.note(changes.keys(), versions.of);
    // the next news of them is stored, whatever it says
    if (!isStored) for (const key of changes.keys()) writtenOver.add(key);
    await Promise.all([
      outbox.put(collection, ahead),
      outbox.sent(collection, settled),
      isStored && copy.store(changes),
    ]);
    if (ahead.size > 0) onDue();
  }

  /** Other tabs have written. What is on its way to the server is newer than what they had. */
  function onLocal(changes: Records): void {
    moment += 1;
    const doubts = new Map<string, number>();
    for (const [key, value] of changes) {
      writtenAt.set(key, moment);
      const isOnItsWay = outbox.of(collection).has(key);
      const isSameHere = isEqual(value, copy.get(key));
      // the tab that follows knows what the server has: the other one may have had older news
      const isNewerHere = versions.ofAll() > 0 && versions.of(key) > 0;
      if (!isSameHere && (isOnItsWay || isNewerHere || copy.isStoring(key))) writtenOver.add(key);
      else if (!copy.isStoring(key)) writtenOver.delete(key);
      if (!isSameHere && isNewerHere && !isOnItsWay) doubts.set(key, versions.of(key));
      if (!isOnItsWay) copy.set(key, value);
    }
    copy.notify(changes);
    onUnsure(doubts, NEWS_MS);
  }
}

/** Time in which the news of what another tab has written comes from the server, in milliseconds. */
const NEWS_MS = 5000;
const byFollower: Asked = { at: Number.POSITIVE_INFINITY, isStored: true };

/** A write never replaces a newer copy. */
function joinedWithCopy(collection: string, key: string, value: unknown, copy: unknown): unknown {
  if (copy === undefined || value === undefined) return value;
  return joinRecords(collection, key, value, copy, true).value;
}

/** Joins the changes of a closed page with what is here. Returns what differs from that. */
function joinedWithAll(
  collection: string,
  entries: ReadonlyMap<string, OutboxEntry>,
  here: Records,
): Records {
  const joined = [...entries].map(
    ([key, { value }]) => [key, joinedWithCopy(collection, key, value, here.get(key))] as const,
  );
  return new Map(joined.filter(([key, value]) => !isEqual(value, here.get(key))));
}

/** Versions of records on the server, as far as this page knows them. */
function createVersions() {
  let known = new Map<string, number>();
  let all = 0;
  let newest = 0;
  const sent = createListeners<[version: number]>();
  const forget = () => {
    known = new Map();
    all = 0;
    newest = 0;
  };
  const noteAll = (version: number) => {
    all = version;
  };
  function note(key: string, version: number): void {
    known.set(key, Math.max(known.get(key) ?? 0, version));
    newest = Math.max(newest, version);
  }
  return {
    /** The part that a replica shows. */
    shown: {
      version: () => all,
      noteVersion: noteAll,
      newest: () => newest,
      onSent: sent.subscribe,
      forgetVersions: forget,
    },
    note,
    noteSent(key: string, version: number) {
      note(key, version);
      sent.notify(version);
    },
    of: (key: string) => known.get(key) ?? 0,
    /** Version up to which everything is known; 0 for nothing. */
    ofAll: () => all,
    noteAll,
    forget,
  };
}
