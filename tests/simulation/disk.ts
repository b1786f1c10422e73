import type { RecordStorage } from "@sluice/core";
import type { Page } from "./page.js";
import { pickBetween, pickNth, type Random } from "./random.js";
import type { Timeline } from "./timeline.js";

/**
 * Behavior of a disk: `tight` has no room for a large record, `full` has room for none, `hangs` never responds. A
 * `slow` disk is far away: its data may be out of date when it arrives.
 */
export type DiskMode = "well" | "slow" | "full" | "tight" | "fails" | "hangs";

/** Minimum length of a text that a tight disk rejects. */
const LARGE = 1000;

/** Creates the storage that all tabs of a browser share. */
export function createDisk(timeline: Timeline, random: Random, log: (detail: string) => void) {
  const collections = new Map<string, Map<string, string>>();
  const watchers = new Set<{
    readonly page: Page;
    readonly collection: string;
    readonly listener: (changes: ReadonlyMap<string, unknown>) => void;
    notifiedAt: number;
  }>();
  const waiting: (() => void)[] = [];
  let mode: DiskMode = "well";
  const disk = {
    get mode() {
      return mode;
    },
    /** Changes the behaviour. A disk that hung runs its pending operations when it recovers. */
    change(next: DiskMode): void {
      mode = next;
      if (next !== "hangs") for (const work of waiting.splice(0)) work();
    },
    /** Modes that the disk was in. */
    modes: new Set<DiskMode>(),
    /** Keys of records that were removed. */
    removed: new Set<string>(),
    /** Keys of records that were made unreadable. */
    corrupted: new Set<string>(),
    createStorage,
    /** Names of all collections. */
    names: () => [...collections.keys()],
    /** Contents of messages that pages have tried to store, by record key. */
    sent: new Map<string, Set<string>>(),
    /** Returns the texts of a collection. */
    readTexts: (collection: string): ReadonlyMap<string, string> => collections.get(collection) ?? new Map(),
    countWatchers: (page: Page, collection: string) =>
      [...watchers].filter((each) => each.page === page && each.collection === collection).length,
    /** Makes one record unreadable. Returns its key. */
    corrupt(collection: string, nth: number): string | undefined {
      const stored = collections.get(collection);
      const key = pickNth([...(stored?.keys() ?? [])], nth);
      if (key === undefined) return undefined;
      stored?.set(key, pickNth(["", "null", "{", "{}", '{"message":{"role":"assistant"}}'], nth) as string);
      disk.corrupted.add(key);
      return key;
    },
  };
  return disk;

  function createStorage(page: Page): RecordStorage {
    let busyUntil = 0;
    let isLost = false;
    return { read, write, subscribe };

    function read(collection: string): Promise<ReadonlyMap<string, unknown>> {
      return runOnDisk(`read ${collection}`, () => getRecords(collections.get(collection) ?? new Map()));
    }

    async function write(collection: string, changes: ReadonlyMap<string, unknown>): Promise<void> {
      const texts = new Map([...changes].map(([key, record]) => [key, serialize(record)] as const));
      for (const [key, record] of changes) noteSent(key, record);
      return runOnDisk(`write ${collection}: ${[...texts.keys()]}`, () => {
        const isTooMuch = [...texts.values()].some((text) => (text?.length ?? 0) > LARGE);
        if (disk.mode === "full" || (disk.mode === "tight" && isTooMuch))
          throw new DOMException("there is no room left", "QuotaExceededError");
        const stored = collections.get(collection) ?? new Map<string, string>();
        collections.set(collection, stored);
        for (const [key, text] of texts) {
          if (text !== undefined) stored.set(key, text);
          else if (stored.delete(key)) disk.removed.add(key);
        }
        notify(collection, texts);
      });
    }

    function subscribe(
      collection: string,
      listener: (changes: ReadonlyMap<string, unknown>) => void,
    ): () => void {
      const watcher = { page, collection, listener, notifiedAt: 0 };
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    }

    function noteSent(key: string, record: unknown): void {
      const { message } = Object(record) as { message?: { content?: string } };
      if (message?.content === undefined) return;
      const contents = disk.sent.get(key) ?? new Set<string>();
      disk.sent.set(key, contents.add(message.content));
    }

    function notify(collection: string, texts: ReadonlyMap<string, string | undefined>): void {
      for (const watcher of watchers) {
        if (watcher.collection !== collection || watcher.page === page) continue;
        // messages to one tab stay in order, as in a BroadcastChannel
        watcher.notifiedAt = Math.max(watcher.notifiedAt, timeline.now() + pickBetween(random, 1, 9));
        timeline.after(watcher.notifiedAt - timeline.now(), () =>
          watcher.page.deliver(() => watchers.has(watcher) && watcher.listener(getRecords(texts))),
        );
      }
    }

    /** Runs a read or a write, in the order of the calls of one page. */
    function runOnDisk<T>(what: string, work: () => T): Promise<T> {
      return new Promise((resolve, reject) => {
        disk.modes.add(mode);
        if (mode === "hangs") return void waiting.push(() => runOnDisk(what, work).then(resolve, reject));
        const ms = mode === "slow" ? pickBetween(random, 500, 6000) : pickBetween(random, 1, 8);
        busyUntil = Math.max(busyUntil, timeline.now()) + ms;
        const isWritten = random() < 0.5;
        timeline.after(busyUntil - timeline.now(), () => {
          // the last writes of a closing tab may be lost: after a lost write, all later writes are lost, too
          if (page.state === "gone") isLost ||= !isWritten;
          if (isLost) return;
          try {
            if (disk.mode === "fails") throw new DOMException(`could not ${what}`, "UnknownError");
            const result = work();
            log(`disk, for tab ${page.id}: ${what}`);
            const reportArrival = () => page.deliver(() => resolve(result));
            if (mode === "slow") timeline.after(pickBetween(random, 0, 4000), reportArrival);
            else reportArrival();
          } catch (error) {
            log(`disk, for tab ${page.id}: ${what} fails`);
            page.deliver(() => reject(error));
          }
        });
      });
    }
  }
}

function serialize(record: unknown): string | undefined {
  return record === undefined ? undefined : JSON.stringify(record);
}

function getRecords(texts: ReadonlyMap<string, string | undefined>): ReadonlyMap<string, unknown> {
  const records = new Map<string, unknown>();
  for (const [key, text] of texts) {
    try {
      records.set(key, text === undefined ? undefined : JSON.parse(text));
    } catch {}
  }
  return records;
}
