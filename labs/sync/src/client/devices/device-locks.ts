import { awaitWithin, rejectOnAbort } from "@sluice/core/extend";
import { QUEUED, type StoredThread, type WorkLocks } from "@sluice/stores/extend";
import type { DeviceLock, DeviceLocks } from "./device-lock.js";

/** Shortest and longest time after which a lock is asked for again, should no news of it come, in milliseconds. */
const AGAIN_MS = 30_000;
const LONGEST_AGAIN_MS = 1_800_000;
/** Longest time for which a turn waits to learn if another device went on, in milliseconds. */
const ASK_MS = 30_000;
/** The same where the server has not answered about its lock before, in milliseconds. */
const ASK_NEW_MS = 3000;
/** Time between two looks at a lock, in milliseconds; the longest where it can't be had. */
const LOOK_MS = 5000;
const LONGEST_LOOK_MS = 300_000;

/** Work of this page on a message. */
interface Hold {
  /** The lock that was taken last; undefined until the server has given one. */
  lock?: DeviceLock | undefined;
  /** Time at which it was taken, of the client's clock. */
  takenAt?: number;
  /** True where the server has answered last that another page has the lock. */
  isRefused?: boolean;
  /** True once another device has gone on with the message. */
  isLost?: boolean;
  /** True once the work has ended. */
  isOver?: boolean;
  /** The attempt to take the lock that is on its way. */
  taking?: Promise<boolean> | undefined;
  /** State of the message when the work began, of {@link Progress}. */
  readonly since: unknown;
}

/** Changes of a thread by other devices. */
export interface Progress {
  /** Reads what other devices have written, while the lock of `id` is held. */
  readonly refresh: (id: string) => Promise<void>;
  /** Returns a value that is another one after another device has changed the message, or has answered below it. */
  readonly stateOf: (id: string) => unknown;
}

/**
 * Creates the locks of a thread that several devices have. A page holds two: the Web Lock, so that the tabs of a browser
 * agree also while it is offline, and within it the lock of the server.
 */
export function createDeviceLocks(
  collection: string,
  { client, isRunning }: StoredThread,
  devices: DeviceLocks,
  tabs: WorkLocks,
  progress: Progress,
): WorkLocks {
  const { clock } = client;
  const holds = new Map<string, Hold>();
  /** Waits for a lock of the thread to become free. */
  const waiting = new Set<() => void>();
  /** Queued messages that wait for a turn of this page. */
  const parked = new Set<() => void>();
  let stopWatching: (() => void) | undefined;
  return {
    areVisible: () => true,
    mayBeHeld: async () => true,
    share(id, work) {
      tabs.share(id, work);
      void keep(id, work);
      for (const wake of [...parked]) wake();
    },
    withLock: (id, signal, act, isOver = () => false) =>
      tabs.withLock(id, signal, async () => {
        const lock = await lockWhenFree(id, signal, isOver);
        if (!lock) return;
        const hold: Hold = { lock, takenAt: clock.now(), since: progress.stateOf(id) };
        const ended = new AbortController();
        holds.set(id, hold);
        if (id.startsWith(QUEUED)) void keepHeld(id, hold, ended.signal);
        try {
          await act();
        } finally {
          ended.abort(null);
          await giveBack(id, hold);
        }
      }),
    isTakenOver(id, signal) {
      const hold = holds.get(id);
      return !hold || hold.lock?.isHeld ? undefined : isTakenFrom(id, hold, signal);
    },
    close() {
      stopWatching?.();
      stopWatching = undefined;
    },
  };

  /** Holds a lock while this page works. One that was lost is taken back, unless another device has gone on. */
  async function keep(id: string, work: Promise<unknown>): Promise<void> {
    const hold: Hold = { since: progress.stateOf(id) };
    const ended = new AbortController();
    const { signal } = ended;
    const end = () => ended.abort(null);
    work.then(end, end);
    holds.set(id, hold);
    await keepHeld(id, hold, signal);
    await work.catch(() => {});
    await giveBack(id, hold);
  }

  /**
   * Holds a lock until the signal aborts, and takes it again where it was lost. That of a queued message is given back while
   * no turn is under way here that it would follow: it may wait for days. Sending it takes the lock.
   */
  async function keepHeld(id: string, hold: Hold, signal: AbortSignal): Promise<void> {
    for (let ms = LOOK_MS; !signal.aborted && !hold.isLost; ) {
      if (id.startsWith(QUEUED) && !isRunning()) {
        // one that was just taken is for a message that is sent now
        const isNew = clock.now() - (hold.takenAt ?? 0) < LOOK_MS;
        if (!isNew) await hold.lock?.release();
        await nextNews(isNew ? LOOK_MS : LONGEST_LOOK_MS, signal, parked);
        continue;
      }
      const isHeld = hold.lock?.isHeld || (await retake(id, hold).catch(() => false));
      ms = isHeld ? LOOK_MS : Math.min(2 * ms, LONGEST_LOOK_MS);
      await nextNews(ms, signal);
    }
  }

  async function giveBack(id: string, hold: Hold): Promise<void> {
    hold.isOver = true;
    if (holds.get(id) === hold) holds.delete(id);
    await hold.lock?.release();
  }

  /**
   * Takes a lock, for the first time or again. Returns false where another device has it, or has gone on.
   *
   * @throws where the server can't be asked
   */
  function retake(id: string, hold: Hold): Promise<boolean> {
    hold.taking ??= take(id, hold).finally(() => {
      hold.taking = undefined;
    });
    return hold.taking;
  }

  async function take(id: string, hold: Hold): Promise<boolean> {
    const isFirst = !hold.lock && !hold.isRefused;
    const lock = await devices.lock(collection, id);
    hold.isRefused = !lock;
    if (!lock) return false;
    if (!isFirst) await progress.refresh(id);
    hold.isLost = progress.stateOf(id) !== hold.since;
    if (hold.isLost || hold.isOver) await lock.release();
    else Object.assign(hold, { lock, takenAt: clock.now() });
    return !hold.isLost;
  }

  async function isTakenFrom(id: string, hold: Hold, signal: AbortSignal): Promise<boolean> {
    // where the server has never answered about it, no other device can have been told: what is done offline is done here
    const isKnown = hold.lock !== undefined || hold.isRefused === true;
    if (hold.isLost) return true;
    for (const until = clock.now() + (isKnown ? ASK_MS : ASK_NEW_MS); !signal.aborted; ) {
      if (hold.lock?.isHeld) return false;
      const left = until - clock.now();
      if (left <= 0) return isKnown;
      try {
        return !(await awaitWithin(clock, left, retake(id, hold), "the server of the chat"));
      } catch {
        if (!isKnown) return hold.isRefused === true;
        await nextNews(LOOK_MS, signal);
      }
    }
    return true;
  }

  /** Resolves to the lock as soon as it is free; to undefined where nothing is left to wait for. */
  async function lockWhenFree(
    id: string,
    signal: AbortSignal,
    isOver: () => boolean,
  ): Promise<DeviceLock | undefined> {
    for (let ms = AGAIN_MS; !isOver(); ms = Math.min(2 * ms, LONGEST_AGAIN_MS)) {
      signal.throwIfAborted();
      const news = nextNews(ms, signal);
      // where the server can't be asked now, the next news is that it can
      const lock = await devices.lock(collection, id).catch(() => undefined);
      if (lock && !signal.aborted) return lock;
      await lock?.release();
      await rejectOnAbort(news, signal);
    }
    return undefined;
  }

  /** Resolves when a lock of the thread may be free, or after a while. */
  function nextNews(ms: number, signal: AbortSignal, wakes = waiting): Promise<void> {
    stopWatching ??= devices.watchLocks(collection, () => {
      for (const wake of [...waiting]) wake();
    });
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const timer = new AbortController();
      const wake = () => {
        wakes.delete(wake);
        timer.abort(null);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      wakes.add(wake);
      signal.addEventListener("abort", wake);
      clock.sleep(ms, timer.signal).then(wake, () => {});
    });
  }
}
