import type { Client } from "@sluice/core";
import { awaitWithin } from "@sluice/core/extend";
import { reportLimit } from "../base/platform-limits.js";

/** The fields of a client that locks need. */
type LockClient = Pick<Client, "clock" | "emit">;

/** State of a lock manager. */
interface Probe {
  /** Resolves when the first query of the manager has ended or timed out. Never rejects. */
  readonly done: Promise<void>;
  /** Reason not to use the manager; undefined while it works. */
  refusal?: unknown;
}

const probes = new WeakMap<LockManager, Probe>();

/** Maximum time for a query of the manager, in milliseconds. */
const QUERY_MS = 3000;
const MANAGER = "the lock manager (navigator.locks)";

/**
 * Runs `act` while this tab holds the lock `name`: one tab of the origin at a time. Other tabs wait without a limit. The
 * lock is released when `act` is settled or the tab is closed.
 *
 * If Web Locks are missing or refused, `act` runs at once. A broken lock manager looks like a lock that another tab holds.
 * To detect it, the first call queries the manager for its locks. A manager whose query rejects or takes more than 3 s is
 * not used until a late result arrives.
 *
 * @throws the signal's reason while it waits, and the error of `act`; never an error of the browser
 */
export async function withLock(
  client: LockClient,
  name: string,
  signal: AbortSignal,
  act: () => Promise<void>,
  mode: "exclusive" | "shared" = "exclusive",
): Promise<void> {
  const locks = await findUsableLocks(client);
  signal.throwIfAborted();
  if (!locks) return act();
  let isGranted = false;
  try {
    return await locks.request(name, { signal, mode }, () => {
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
 * Holds the lock `name`, shared with other tabs, until `work` is settled: {@link isLocked} then finds it. Never
 * rejects.
 */
export function shareLock(client: LockClient, name: string, work: Promise<unknown>): Promise<void> {
  const act = () =>
    work.then(
      () => {},
      () => {},
    );
  return withLock(client, name, new AbortController().signal, act, "shared");
}

/** Sends the first query to the lock manager, so that the first lock does not wait for it. */
export function prepareLocks(client: LockClient): void {
  const locks = findLockManager(() => {});
  if (locks && !probes.has(locks)) startProbe(client, locks);
}

/**
 * Returns true if a tab holds the lock `name` now; undefined if unknown. Never rejects.
 */
export async function isLocked(client: LockClient, name: string): Promise<boolean | undefined> {
  const locks = await findUsableLocks(client);
  if (!locks) return undefined;
  try {
    const { held } = await queryLocks(client, locks);
    return held?.some((lock) => lock.name === name);
  } catch (error) {
    refuse(client, locks, error);
    return undefined;
  }
}

/** Returns true if tabs can see each other's locks. The first use of a lock detects a refusal. */
export function hasLocks(): boolean {
  const locks = findLockManager(() => {});
  return locks !== undefined && probes.get(locks)?.refusal === undefined;
}

function findLockManager(onRefusal: (error: unknown) => void): LockManager | undefined {
  try {
    return globalThis.navigator?.locks;
  } catch (error) {
    onRefusal(error);
    return undefined;
  }
}

async function findUsableLocks(client: LockClient): Promise<LockManager | undefined> {
  const locks = findLockManager((error) => reportLimit(client, "web-locks", error));
  if (!locks) return undefined;
  const probe = probes.get(locks) ?? startProbe(client, locks);
  await probe.done;
  if (probe.refusal === undefined) return locks;
  reportLimit(client, "web-locks", probe.refusal);
  return undefined;
}

function startProbe(client: LockClient, locks: LockManager): Probe {
  const done = queryLocks(client, locks).then(
    () => {},
    (error) => {
      probe.refusal = error;
    },
  );
  const probe: Probe = { done };
  probes.set(locks, probe);
  return probe;
}

/** Queries the manager. After a late result the manager is used again, because a sleeping computer exceeds the limit. */
async function queryLocks({ clock }: LockClient, locks: LockManager): Promise<LockManagerSnapshot> {
  // a getter or a method may throw synchronously
  const query = Promise.resolve().then(() => locks.query());
  try {
    return await awaitWithin(clock, QUERY_MS, query, MANAGER);
  } catch (error) {
    query.then(
      () => probes.delete(locks),
      () => {},
    );
    throw error;
  }
}

function refuse(client: LockClient, locks: LockManager, refusal: unknown): void {
  probes.set(locks, { done: Promise.resolve(), refusal });
  reportLimit(client, "web-locks", refusal);
}
