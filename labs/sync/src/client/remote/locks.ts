import type { Client } from "@sluice/core";
import { toIdleClock } from "@sluice/core/extend";
import type { DeviceLock } from "../devices/device-lock.js";
import type { Leaving } from "./leaving.js";
import type { Line } from "./line.js";
import type { Place } from "./place.js";
import type { Wire } from "./wire.js";

/** Life of a lease without a renewal, and the time between two renewals, in milliseconds. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** Longest wait for the changes of a page before it gives a lock back, in milliseconds. */
const FLUSH_MS = 5000;
/** Longest time for which the changes of a page wait for the answer about a lock, in milliseconds. */
const HOLD_MS = 3000;

/** Parts that locks need. */
interface LockOptions {
  readonly client: Client;
  readonly wire: Wire;
  readonly line: Line;
  readonly leaving: Leaving;
  readonly place: Place;
  /** Brings what was written before the lock was free into this page. */
  readonly pull: (version: number | undefined) => Promise<void>;
  /** Keeps the changes of this page back until the returned function is called. */
  readonly hold: () => () => void;
  /** Waits until the changes of this page are sent, or for some milliseconds. Returns false where some are not. */
  readonly flush: (ms: number) => Promise<boolean>;
}

/** Locks of this page that are being given back, by conversation and name: with them a newer one would lose the lease. */
const ending = new WeakMap<Wire, Map<string, Promise<void>>>();

/**
 * Takes a lease of a conversation, and renews it until it is given back.
 *
 * @returns undefined while another page holds it
 * @throws the error of the request
 */
export async function takeLock(options: LockOptions, name: string): Promise<DeviceLock | undefined> {
  const { client, line, pull } = options;
  if (line.isLocal) return ofThisBrowser;
  const { ends, key } = endingOf(options, name);
  await ends.get(key);
  const sentAt = client.clock.now();
  const answer = await requestHeld(options, name);
  if (answer === "local") return ofThisBrowser;
  if (!answer.isHeld) return undefined;
  const lock = keepRenewed(options, name, sentAt);
  try {
    await pull(answer.version);
  } catch (error) {
    await lock.giveBack();
    throw error;
  }
  return lock;
}

/** Finds the place of a lock among those that are being given back. */
function endingOf(options: LockOptions, name: string) {
  const ends = ending.get(options.wire) ?? new Map<string, Promise<void>>();
  ending.set(options.wire, ends);
  return { ends, key: `${options.place.id} ${name}` };
}

/** Lock where the proxy keeps no conversations: the Web Lock of the browser is all there is. */
const ofThisBrowser: DeviceLock = { isHeld: true, release: async () => {} };

/** Asks for the lease. Until the answer nothing of this page is sent: no other device may see work without its lock. */
async function requestHeld({ client, wire, line, place, hold }: LockOptions, name: string) {
  const release = hold();
  const answered = new AbortController();
  toIdleClock(client.clock).sleep(HOLD_MS, answered.signal).then(release, release);
  try {
    const answer = await wire.lease(place.id, name, LEASE_MS);
    line.worked();
    return answer;
  } catch (error) {
    await line.failed(error);
    if (line.isLocal) return "local";
    throw error;
  } finally {
    answered.abort(null);
  }
}

function keepRenewed(
  options: LockOptions,
  name: string,
  sentAt: number,
): DeviceLock & { readonly giveBack: () => Promise<void> } {
  const { client, wire, place, leaving, flush } = options;
  let granted = { at: sentAt, wallAt: Date.now() - (client.clock.now() - sentAt) };
  let isLost = false;
  const released = new AbortController();
  const { id } = place;
  const stay = leaving.add(place, name, leave);
  void renew();
  return {
    get isHeld() {
      return isHeld();
    },
    release() {
      const { ends, key } = endingOf(options, name);
      const end = release().finally(() => ends.get(key) === end && ends.delete(key));
      ends.set(key, end);
      return end;
    },
    giveBack,
  };

  async function release(): Promise<void> {
    // the next holder reads what was written here: until that is sent, the lease is left to run out
    if (isHeld() && (await flush(FLUSH_MS))) await giveBack();
    else leave();
  }

  function isHeld(): boolean {
    // the clock of a page may stand still while the device sleeps
    const ms = Math.max(client.clock.now() - granted.at, Date.now() - granted.wallAt);
    isLost ||= ms >= LEASE_MS;
    return !isLost;
  }

  async function giveBack(): Promise<void> {
    if (released.signal.aborted) return;
    leave();
    await wire.release(id, name).catch(() => {});
  }

  function leave(): void {
    isLost = true;
    stay();
    released.abort(null);
  }

  async function renew(): Promise<void> {
    const { signal } = released;
    while (!signal.aborted) {
      await toIdleClock(client.clock)
        .sleep(RENEW_MS, signal)
        .catch(() => {});
      if (signal.aborted || !isHeld()) return;
      const asked = { at: client.clock.now(), wallAt: Date.now() };
      const answer = await wire.lease(id, name, LEASE_MS).catch(() => undefined);
      // a lease that ran out meanwhile may have been another page's
      if (!isHeld() || signal.aborted) return;
      if (answer?.isHeld) granted = asked;
      else if (answer) isLost = true;
    }
  }
}
