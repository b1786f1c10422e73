import { hostname } from "node:os";
import process from "node:process";
import { createRandomId } from "@sluice/core/extend";
import type { Journal, Line } from "./journal.js";

/** Time between two heartbeats of a process that holds a lock, in milliseconds. */
const HEARTBEAT_MS = 10_000;
/** Time without a heartbeat after which a process counts as dead, even if its process id is in use. In milliseconds. */
const DEAD_MS = 60_000;

/** Holder of a lock in the journal. */
interface Holder {
  readonly token: string;
  readonly pid: number;
  readonly host: string;
}

/** Tokens of the locks that this process holds in all its storages. */
const ownTokens = new Set<string>();

/**
 * Creates the locks of a journal. Locks are lines of the journal: all processes read the same lines in the same order, so
 * that they agree on the holder. Processes ignore lines that a process writes after it has lost its lock.
 */
export function createFileLocks(journal: Journal, catchUp: () => Promise<void>) {
  const holders = new Map<string, Holder>();
  return { apply, acquire, isHeld };

  function isHeld(name: string, token: string): boolean {
    return holders.get(name)?.token === token;
  }

  /** Applies a takeover (`take`, `after`), a release (`free`) or a write (`by`). Returns true if its records apply. */
  function apply({ lock, by, take: taker, after, free }: Line): boolean {
    if (typeof lock !== "string") return true;
    const holder = holders.get(lock);
    if (typeof by === "string") return holder?.token === by;
    // if several processes take over at once, the first line wins
    if (taker && (holder?.token ?? null) === after) holders.set(lock, taker as Holder);
    if (typeof free === "string" && holder?.token === free) holders.delete(lock);
    return false;
  }

  /** Acquires a lock; undefined while another process holds it. */
  async function acquire(name: string) {
    await catchUp();
    const holder = holders.get(name);
    if (holder && (await isAlive(holder))) return undefined;
    const token = createRandomId();
    const taker: Holder = { token, pid: process.pid, host: hostname() };
    ownTokens.add(token);
    await journal.append({ lock: name, take: taker, after: holder?.token ?? null });
    await catchUp();
    if (!isHeld(name, token)) {
      ownTokens.delete(token);
      return undefined;
    }
    const timer = setInterval(() => void journal.touch().catch(() => {}), HEARTBEAT_MS);
    // the heartbeat must not keep the process running
    timer.unref?.();
    return { token, release };

    async function release(): Promise<void> {
      clearInterval(timer);
      ownTokens.delete(token);
      await journal.append({ lock: name, free: token }).catch(() => {});
    }
  }

  async function isAlive({ token, pid, host }: Holder): Promise<boolean> {
    if (host === hostname()) {
      if (pid === process.pid) return ownTokens.has(token);
      if (!isRunning(pid)) return false;
    }
    return Date.now() - (await journal.readChangeTime()) < DEAD_MS;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // the process exists, but belongs to another user
    return (error as { readonly code?: string }).code === "EPERM";
  }
}
