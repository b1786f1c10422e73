import type { RecordStorage, SharedDevices, SyncStatus } from "@sluice/core";
import type { OpenDevices } from "@sluice/stores/extend";
import { createOtherDevices, type DeviceLock, type DeviceLocks } from "@sluice/sync";
import { mergeRecords } from "../../packages/stores/src/chat/merge-records.js";
import type { Page } from "./page.js";
import { pickBetween, type Random } from "./random.js";
import type { Timeline } from "./timeline.js";

/*
 * A server that keeps records for several devices, and the storage of a device over it: the contract that a chat relies
 * on, without HTTP. The server keeps versions and leases, and knows nothing of messages; the devices join.
 */

/** Time for which a lease lasts, and between two renewals, in milliseconds. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** Maximum wait for a response, and for a lease before records are sent, in milliseconds. */
const ANSWER_MS = 10_000;
const ORDER_MS = 3000;
/** Wait after a request that failed, in milliseconds. */
const AGAIN_MS = 1000;

/** The collection of the chat. Others are not shared, and none is used. */
const COLLECTION = "chat/a";

const OFFLINE = new TypeError("fetch failed");

type Texts = ReadonlyMap<string, string | undefined>;
/** The side of a device that the server tells of changes. */
interface Follower {
  hear(act: () => void): void;
  told(what: "records" | "locks"): void;
  passed(texts: Texts): void;
}

interface Versioned {
  readonly version: number;
  readonly text: string | undefined;
}

/** The server of one collection. */
export function createSharedServer(timeline: Timeline, log: (detail: string) => void) {
  const records = new Map<string, Versioned>();
  const leases = new Map<string, { readonly page: Page; until: number }>();
  const devices = new Set<Follower>();
  let version = 0;
  const server = {
    records,
    leases,
    devices,
    /** Number of requests for a lease, renewals among them. */
    asked: 0,
    get version() {
      return version;
    },
    readSince: (since: number): ReadonlyMap<string, Versioned> =>
      new Map([...records].filter(([, record]) => record.version > since)),
    /** Writes each record whose last version the device has seen. Returns the records that have changed since. */
    write(changes: ReadonlyMap<string, { readonly text: string | undefined; readonly seen: number }>) {
      const kept = new Map<string, Versioned>();
      const taken = new Map<string, number>();
      for (const [key, { text, seen }] of changes) {
        const known = records.get(key) ?? { version: 0, text: undefined };
        if (known.text === text) taken.set(key, known.version);
        else if (known.version > seen) kept.set(key, known);
        else {
          version += 1;
          records.set(key, { version, text });
          taken.set(key, version);
        }
      }
      log(`server: takes ${[...taken.keys()]}${kept.size ? `, keeps ${[...kept.keys()]}` : ""}`);
      tell("records");
      return { taken, kept };
    },
    /** Gives or renews a lease. */
    lease(name: string, page: Page): boolean {
      server.asked += 1;
      const known = leases.get(name);
      const isFree = !known || known.until <= timeline.now();
      if (!isFree && known.page !== page) return false;
      if (isFree) log(`server: lease ${name} for ${page.name}`);
      const until = timeline.now() + LEASE_MS;
      if (known && !isFree) known.until = until;
      else {
        leases.set(name, { page, until });
        watchEnd(name);
      }
      return true;
    },
    giveBack(name: string, page: Page): void {
      if (leases.get(name)?.page !== page) return;
      log(`server: lease ${name} of ${page.name} is given back`);
      leases.delete(name);
      tell("locks");
    },
    pass(texts: Texts, from: Follower): void {
      for (const device of devices) if (device !== from) device.hear(() => device.passed(texts));
    },
  };
  return server;

  function tell(what: "records" | "locks"): void {
    for (const device of devices) device.hear(() => device.told(what));
  }

  function watchEnd(name: string): void {
    const lease = leases.get(name);
    if (!lease) return;
    timeline.after(lease.until - timeline.now(), () => {
      if (leases.get(name) !== lease) return;
      if (lease.until > timeline.now()) return watchEnd(name);
      log(`server: lease ${name} of ${lease.page.name} has ended`);
      leases.delete(name);
      tell("locks");
    });
  }
}

type SharedServer = ReturnType<typeof createSharedServer>;

/** A device of the user. */
export interface Device {
  readonly id: string;
  readonly pages: Set<Page>;
  /** True while the server can be reached. */
  isOnline: boolean;
  /** Number of upcoming requests whose responses are lost. */
  answersLost: number;
  goOnline(): void;
  createStorage(page: Page): RecordStorage;
}

interface Watcher {
  readonly page: Page;
  readonly listener: (changes: ReadonlyMap<string, unknown>) => void;
}

/** Creates a device. Its records last as long as the simulation, whatever happens to its pages. */
export function createDevice(
  id: string,
  server: SharedServer,
  timeline: Timeline,
  random: Random,
  log: (detail: string) => void,
) {
  const local = new Map<string, string>();
  /** Versions that this device has seen. */
  const seen = new Map<string, number>();
  const dirty = new Set<string>();
  /** Keys of records that other devices have passed. */
  const passed = new Set<string>();
  const pages = new Set<Page>();
  const watchers = new Set<Watcher>();
  const lockListeners = new Set<{ readonly page: Page; readonly listener: () => void }>();
  const statusListeners = new Set<{ readonly page: Page; readonly listener: () => void }>();
  /** Leases that are being given back. */
  const ending = new Map<string, Promise<void>>();
  /** Leases that are requested. Later writes are sent after them. */
  const asked = new Set<Promise<unknown>>();
  let since = 0;
  let heard = 0;
  let working: Promise<void> | undefined;
  let status: SyncStatus = { isSyncing: false, unsent: 0 };
  let failure: Error | undefined;
  const device = {
    id,
    pages,
    isOnline: true,
    answersLost: 0,
    hear(act: () => void): void {
      if (device.isOnline) timeline.after(delay(), () => device.isOnline && act());
    },
    told(what: "records" | "locks"): void {
      if (what === "locks") for (const { page, listener } of lockListeners) page.deliver(listener);
      else {
        heard = server.version;
        wakeWork();
      }
    },
    passed(texts: Texts): void {
      for (const key of texts.keys()) passed.add(key);
      notify(texts, undefined);
    },
    goOnline(): void {
      device.isOnline = true;
      device.told("locks");
      device.told("records");
    },
    createStorage,
  };
  server.devices.add(device);
  return device;

  function createStorage(page: Page): RecordStorage {
    pages.add(page);
    wakeWork();
    return {
      async read() {
        if (since === 0 && isAwake()) await runWithin(3000, pull()).catch(() => {});
        return answer(page, () => getRecords(local));
      },
      write: (_, changes) => {
        const texts = new Map([...changes].map(([key, record]) => [key, serialize(record)] as const));
        return answer(page, () => keep(texts, page));
      },
      watch: (collection, listener) =>
        collection === COLLECTION ? listAdded(watchers, { page, listener }) : () => {},
      pass(_, changes) {
        const texts = new Map([...changes].map(([key, record]) => [key, serialize(record)] as const));
        notify(texts, page);
        if (device.isOnline) timeline.after(delay(), () => device.isOnline && server.pass(texts, device));
      },
      devices: createDevices(page),
    };
  }

  function createDevices(page: Page): SharedDevices {
    const open: OpenDevices = (collection, kept, tabs, refresh) =>
      createOtherDevices(collection, kept, devices, tabs, refresh);
    const devices: SharedDevices & DeviceLocks = {
      id: async () => id,
      lock: (_, name) => lock(name, page),
      watchLocks: (_, listener) => listAdded(lockListeners, { page, listener }),
      status: () => ({
        getSnapshot: () => status,
        subscribe: (listener) => listAdded(statusListeners, { page, listener }),
      }),
      open,
    };
    return devices;
  }

  /** Does a work on this device, unless its page is gone by then. */
  function answer<T>(page: Page, work: () => T): Promise<T> {
    return new Promise((resolve) => {
      timeline.after(pickBetween(random, 1, 6), () => {
        const result = work();
        page.deliver(() => resolve(result));
      });
    });
  }

  /** Stores the writes of a page. A newer local copy stays. */
  function keep(texts: Texts, page: Page): void {
    const others = new Map<string, string | undefined>();
    for (const [key, text] of texts) {
      const joined = text === undefined ? undefined : joinText(key, text, local.get(key));
      if (joined !== text) others.set(key, joined);
      put(key, joined);
      dirty.add(key);
    }
    notify(texts, page);
    if (others.size > 0) notify(others, undefined);
    wakeWork();
  }

  function put(key: string, text: string | undefined): void {
    if (text === undefined) local.delete(key);
    else local.set(key, text);
  }

  function notify(texts: Texts, writer: Page | undefined): void {
    for (const watcher of watchers)
      if (watcher.page !== writer)
        timeline.after(pickBetween(random, 1, 9), () =>
          watcher.page.deliver(() => watchers.has(watcher) && watcher.listener(getRecords(texts))),
        );
  }

  /** Sends dirty records and reads new ones until the server and this device are equal. */
  function wakeWork(): void {
    working ??= runWork()
      .then(
        () => {
          failure = undefined;
        },
        (error) => {
          failure = error as Error;
          timeline.after(AGAIN_MS, wakeWork);
        },
      )
      .finally(() => {
        working = undefined;
        tellStatus();
        if (isAwake() && !failure && (dirty.size > 0 || since < heard)) wakeWork();
      });
    tellStatus();
  }

  async function runWork(): Promise<void> {
    while (isAwake() && (dirty.size > 0 || since < heard || since === 0)) {
      if (asked.size > 0) await runWithin(ORDER_MS, Promise.allSettled([...asked])).catch(() => {});
      if (dirty.size > 0) await send();
      else await pull();
      if (since === 0) return;
    }
  }

  async function send(): Promise<void> {
    const sent = new Map(
      [...dirty].map((key) => [key, { text: local.get(key), seen: seen.get(key) ?? 0 }] as const),
    );
    const { taken, kept } = await request(() => server.write(sent));
    for (const [key, version] of taken) {
      // a newer copy was read before this response, and its merge result must still be sent
      if (version < (seen.get(key) ?? 0)) continue;
      seen.set(key, version);
      if (local.get(key) === sent.get(key)?.text) dirty.delete(key);
    }
    take(kept);
  }

  async function pull(): Promise<void> {
    const { version, records } = await request(() => ({
      version: server.version,
      records: server.readSince(since),
    }));
    take(records);
    since = Math.max(since, version);
  }

  /** Joins what the server has with what this device has changed. A removal wins, on both sides. */
  function take(records: ReadonlyMap<string, Versioned>): void {
    const changed = new Map<string, string | undefined>();
    for (const [key, { version, text }] of records) {
      if (version <= (seen.get(key) ?? 0)) continue;
      seen.set(key, version);
      const own = local.get(key);
      const isRemoved = text === undefined || (dirty.has(key) && own === undefined);
      const joined = isRemoved ? undefined : dirty.has(key) ? joinText(key, own, text) : text;
      if (joined === text) dirty.delete(key);
      // broadcast updates that never arrived are also shown
      if (joined === own && !(joined === undefined && passed.has(key))) continue;
      put(key, joined);
      changed.set(key, joined);
    }
    if (changed.size > 0) notify(changed, undefined);
  }

  async function lock(name: string, page: Page): Promise<DeviceLock | undefined> {
    const key = `${page.id} ${name}`;
    await runInPage(page, Promise.resolve(ending.get(key)));
    let sentAt = timeline.now();
    const asking = request(() => server.lease(name, page));
    asked.add(asking);
    const forget = () => void asked.delete(asking);
    asking.then(forget, forget);
    const isGiven = await runInPage(page, asking);
    if (!isGiven) return undefined;
    let isOver = false;
    const isHeld = () => !isOver && timeline.now() - sentAt < LEASE_MS;
    void renew();
    // records that were written before it was free
    await runInPage(
      page,
      pull().catch(() => {}),
    );
    return {
      get isHeld() {
        return isHeld();
      },
      release() {
        const end = giveBack().finally(() => ending.get(key) === end && ending.delete(key));
        ending.set(key, end);
        return end;
      },
    };

    async function giveBack(): Promise<void> {
      isOver = true;
      const until = sentAt + LEASE_MS;
      while (dirty.size > 0 && timeline.now() < until && page.state === "open")
        await (working ?? page.clock.sleep(AGAIN_MS));
      await runInPage(
        page,
        request(() => server.giveBack(name, page)).catch(() => {}),
      );
    }

    async function renew(): Promise<void> {
      for (;;) {
        await page.clock.sleep(RENEW_MS);
        if (!isHeld()) return;
        const at = timeline.now();
        const isRenewed = await runInPage(
          page,
          request(() => server.lease(name, page)),
        ).catch(() => undefined);
        if (isRenewed === false) isOver = true;
        if (isRenewed && isHeld()) sentAt = at;
      }
    }
  }

  /** Sends a request to the server: it never arrives, its response is lost, or all goes well. */
  function request<T>(act: () => T): Promise<T> {
    return runWithin(
      ANSWER_MS,
      new Promise((resolve, reject) => {
        const rejectLost = () => reject(new TypeError("fetch failed"));
        if (!device.isOnline) return void timeline.after(1, rejectLost);
        timeline.after(delay(), () => {
          if (!device.isOnline) return rejectLost();
          const result = act();
          const isLost = device.answersLost > 0;
          if (isLost) device.answersLost -= 1;
          timeline.after(delay(), () => (isLost || !device.isOnline ? rejectLost() : resolve(result)));
        });
      }),
    );
  }

  function runWithin<T>(ms: number, promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = timeline.after(ms, () => reject(new DOMException("no answer", "TimeoutError")));
      promise.then(resolve, reject).finally(cancel);
    });
  }

  function runInPage<T>(page: Page, promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (result) => page.deliver(() => resolve(result)),
        (error) => page.deliver(() => reject(error)),
      );
    });
  }

  function delay(): number {
    return pickBetween(random, 5, 60);
  }

  function rejectOffline(): Error | undefined {
    return device.isOnline || dirty.size === 0 ? undefined : OFFLINE;
  }

  /** True while a page of this device can work: nothing is sent for a device without one. */
  function isAwake(): boolean {
    return device.isOnline && [...pages].some(({ state }) => state === "open");
  }

  function tellStatus(): void {
    const error = failure ?? rejectOffline();
    const next: SyncStatus = {
      isSyncing: working !== undefined || dirty.size > 0,
      unsent: dirty.size,
      ...(error && { error }),
    };
    if (JSON.stringify(next) === JSON.stringify(status) && next.error === status.error) return;
    status = next;
    for (const { page, listener } of statusListeners) page.deliver(listener);
    if (next.unsent === 0) log(`device ${id}: all is sent`);
  }
}

function listAdded<Item>(items: Set<Item>, item: Item): () => void {
  items.add(item);
  return () => void items.delete(item);
}

function joinText(key: string, mine: string | undefined, theirs: string | undefined): string | undefined {
  if (mine === undefined || theirs === undefined || mine === theirs) return mine ?? theirs;
  const joined = mergeRecords(key, JSON.parse(mine), JSON.parse(theirs));
  return JSON.stringify(joined);
}

function serialize(record: unknown): string | undefined {
  return record === undefined ? undefined : JSON.stringify(record);
}

function getRecords(texts: Texts): ReadonlyMap<string, unknown> {
  return new Map(
    [...texts].map(([key, text]) => [key, text === undefined ? undefined : JSON.parse(text)] as const),
  );
}
