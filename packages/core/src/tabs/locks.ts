import { type Clock, within } from "../base/clock.js";
import { reportLimit } from "../base/platform-limits.js";
import type { ClientEvent } from "../events.js";

/** The part of a client that locks need: time, and a receiver of `platform-limit`. */
interface LockClient {
  /** Clock of the waits for the lock manager. */
  readonly clock: Clock;
  /** Receives `platform-limit`. */
  readonly emit: (event: ClientEvent) => void;
}

/** State of a lock manager. */
interface Probe {
  /** Settles when the manager has answered its first question, or has not in time. Never rejects. */
  readonly done: Promise<void>;
  /** The reason not to use the manager. */
  refusal?: unknown;
}

const probes = new WeakMap<LockManager, Probe>();

/** Time that a lock manager has for an answer about its locks, in milliseconds. */
const ANSWER_MS = 3000;
const MANAGER = "the lock manager (navigator.locks)";

/**
 * Runs `act` while this tab holds the lock `name`: one tab of the origin at a time, the others wait for as long as it
 * takes. A tab lets go when `act` is settled, or when it is closed.
 *
 * Without Web Locks, and where they are refused, `act` runs at once. No lock can be told from one that another tab
 * holds, so a manager is first asked for its list of locks: one that rejects, or does not answer within 3 s, is not
 * used. One that answers late is used from then on.
 *
 * @throws the signal's reason while it waits, and what `act` throws; never an error of the browser
 */
export async function withLock(
  client: LockClient,
  name: string,
  signal: AbortSignal,
  act: () => Promise<void>,
): Promise<void> {
  const locks = await usableLocks(client);
  signal.throwIfAborted();
  if (!locks) return act();
  let isGranted = false;
  try {
    return await locks.request(name, { signal }, () => {
      isGranted = true;
      return act();
    });
  } catch (error) {
    if (isGranted || signal.aborted) throw error;
    refuse(client, locks, error);
  }
  await act();
}

/** Holds the lock `name` together with other tabs until `work` is settled, so that {@link isLocked} finds it. Never rejects. */
export async function shareLock(client: LockClient, name: string, work: Promise<unknown>): Promise<void> {
  const locks = await usableLocks(client);
  try {
    await locks?.request(name, { mode: "shared" }, () => work.catch(() => {}));
  } catch (error) {
    refuse(client, locks, error);
  }
}

/** Tells whether a tab holds the lock `name` now; undefined where that can't be known. Never rejects. */
export async function isLocked(client: LockClient, name: string): Promise<boolean | undefined> {
  const locks = await usableLocks(client);
  try {
    const { held } = (locks && (await within(client.clock, ANSWER_MS, locks.query(), MANAGER))) ?? {};
    return held?.some((lock) => lock.name === name);
  } catch (error) {
    refuse(client, locks, error);
    return undefined;
  }
}

/** Tells whether tabs can know of each other's locks. A refusal shows with the first use of a lock. */
export function hasLocks(): boolean {
  const locks = lockManager(() => {});
  return locks !== undefined && probes.get(locks)?.refusal === undefined;
}

function lockManager(onRefusal: (error: unknown) => void): LockManager | undefined {
  try {
    return ((globalThis.navigator ?? {}) as Partial<Navigator>).locks;
  } catch (error) {
    onRefusal(error);
    return undefined;
  }
}

async function usableLocks(client: LockClient): Promise<LockManager | undefined> {
  const locks = lockManager((error) => reportLimit(client, "web-locks", error));
  if (!locks) return undefined;
  const probe = probes.get(locks) ?? probeOf(client, locks);
  await probe.done;
  if (probe.refusal === undefined) return locks;
  reportLimit(client, "web-locks", probe.refusal);
  return undefined;
}

function probeOf({ clock }: LockClient, locks: LockManager): Probe {
  // a getter or a method may throw at once
  const answer = Promise.resolve().then(() => locks.query());
  const done = within(clock, ANSWER_MS, answer, MANAGER).then(
    () => {},
    (error) => {
      probe.refusal = error;
      void answer.then(
        () => probes.delete(locks),
        () => {},
      );
    },
  );
  const probe: Probe = { done };
  probes.set(locks, probe);
  return probe;
}

function refuse(client: LockClient, locks: LockManager | undefined, refusal: unknown): void {
  if (locks) probes.set(locks, { done: Promise.resolve(), refusal });
  reportLimit(client, "web-locks", refusal);
}
