import type { ClientEvent, Clock } from "@sluice/core";
import { awaitWithin, reportLimit } from "@sluice/core/internal";

/** The part of a client that locks need. */
interface LockClient {
  /** Clock of the waits for the lock manager. */
  readonly clock: Clock;
  /** Receives `feature-unavailable`. */
  readonly emit: (event: ClientEvent) => void;
}

/** State of a lock manager. */
interface Probe {
  /** Settles when the manager has answered its first query, or has not answered in time. Never rejects. */
  readonly done: Promise<void>;
  /** Reason not to use the manager; undefined while it works. */
  refusal?: unknown;
}

const probes = new WeakMap<LockManager, Probe>();

/** Longest time in milliseconds for the manager's answer about its locks. */
const ANSWER_MS = 3000;
const MANAGER = "the lock manager (navigator.locks)";

/**
 * Runs `act` while this tab holds the lock `name`: one tab of the origin at a time. The others wait without a limit.
 * The lock is released when `act` is settled, or when the tab is closed.
 *
 * Without Web Locks, and where they are refused, `act` runs at once. A broken lock manager looks like a lock that
 * another tab holds. So the manager is first queried for its list of locks. It is not used if it rejects or does not
 * answer within 3 s. After a late answer it is used.
 *
 * @throws the signal's reason while it waits, and the error of `act`; never an error of the browser
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

/**
 * Runs `act` while this tab holds the lock `name`, if no other one holds it now. Without Web Locks, and where they are
 * refused, `act` runs at once.
 *
 * @returns false where another tab holds it: `act` was not called
 * @throws the error of `act`
 */
export async function withFreeLock(
  client: LockClient,
  name: string,
  act: () => Promise<void>,
): Promise<boolean> {
  const locks = await usableLocks(client);
  let isGranted = !locks;
  try {
    await locks?.request(name, { ifAvailable: true }, (lock) => {
      isGranted = lock !== null;
      return lock ? act() : undefined;
    });
    if (locks) return isGranted;
  } catch (error) {
    if (isGranted || !locks) throw error;
    refuse(client, locks, error);
  }
  await act();
  return true;
}

/**
 * Holds the lock `name`, shared with other tabs, until `work` is settled: {@link isLocked} then finds it. Never
 * rejects.
 */
export async function shareLock(client: LockClient, name: string, work: Promise<unknown>): Promise<void> {
  const locks = await usableLocks(client);
  if (!locks) return;
  try {
    await locks.request(name, { mode: "shared" }, () => work.catch(() => {}));
  } catch (error) {
    refuse(client, locks, error);
  }
}

/** Sends the first query to the lock manager now, so that the first lock does not wait for the answer. */
export function prepareLocks(client: LockClient): void {
  const locks = lockManager(() => {});
  if (locks && !probes.has(locks)) probeOf(client, locks);
}

/** Returns true if a tab holds the lock `name` now; undefined where that is unknown. Never rejects. */
export async function isLocked(client: LockClient, name: string): Promise<boolean | undefined> {
  const locks = await usableLocks(client);
  if (!locks) return undefined;
  // a getter or a method may throw synchronously
  const answer = Promise.resolve().then(() => locks.query());
  try {
    const { held } = await awaitWithin(client.clock, ANSWER_MS, answer, MANAGER);
    return held?.some((lock) => lock.name === name);
  } catch (error) {
    refuse(client, locks, error);
    useAfter(answer, locks);
    return undefined;
  }
}

/** Returns true if tabs can see each other's locks. A refusal is found at the first use of a lock. */
export function hasLocks(): boolean {
  const locks = lockManager(() => {});
  return locks !== undefined && probes.get(locks)?.refusal === undefined;
}

function lockManager(onRefusal: (error: unknown) => void): LockManager | undefined {
  try {
    return globalThis.navigator?.locks;
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
  // a getter or a method may throw synchronously
  const answer = Promise.resolve().then(() => locks.query());
  const done = awaitWithin(clock, ANSWER_MS, answer, MANAGER).then(
    () => {},
    (error) => {
      probe.refusal = error;
      useAfter(answer, locks);
    },
  );
  const probe: Probe = { done };
  probes.set(locks, probe);
  return probe;
}

/** Uses the manager again after a late answer: a computer that sleeps takes longer than the wait. */
function useAfter(answer: Promise<unknown>, locks: LockManager): void {
  answer.then(
    () => probes.delete(locks),
    () => {},
  );
}

function refuse(client: LockClient, locks: LockManager, refusal: unknown): void {
  probes.set(locks, { done: Promise.resolve(), refusal });
  reportLimit(client, "web-locks", refusal);
}
