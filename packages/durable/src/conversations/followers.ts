import type { ObjectSQL } from "../objects/object.js";
import { type Next, openReaders } from "../objects/readers.js";
import type { Lease } from "./leases.js";
import { readPage, USUALLY_LISTED } from "./reading.js";
import { readState } from "./record-tables.js";
import { bytesOf } from "./writing.js";

/** A device that follows a conversation, and where it begins. */
export interface FollowAsked {
  /** The version that it has; 0 for nothing. */
  readonly since: number;
  /** The device, which does not get what it passes itself. */
  readonly device: string | undefined;
}

/** Most streams of one conversation. */
const MOST = 100;
/** Longest silence of a stream, in milliseconds. */
const BEAT_MS = 15_000;
/** Time after which a stream ends, in milliseconds: who reads on has to sign in again. */
const FOLLOW_MS = 3_600_000;
/** Most records of one event, in bytes. */
const EVENT_BYTES = 1024 * 1024;
/** Most bytes of passed records that wait for one reader: beyond them the oldest are dropped. */
const PASSED_BYTES = 256 * 1024;

/** The part of a stream that waits for its reader. */
interface Waiting {
  readonly device: string | undefined;
  passed: string[];
  readonly leases: Map<string, Lease | null>;
  /** True once the conversation is gone. */
  isGone: boolean;
}

const encoder = new TextEncoder();

/**
 * Opens the streams of one object. Each reader takes records from its own place when it can, so that nothing but a little
 * of what is passed waits for a slow one.
 */
export function openFollowers(sql: ObjectSQL, hasTables: () => boolean) {
  const readers = openReaders(MOST, BEAT_MS);
  const waiting = new Set<Waiting>();
  return { follow, pass, tell, wake: readers.wake, end };

  /** @throws {Refusal} 429 `too_many_readers` */
  function follow(
    { since, device }: FollowAsked,
    leases: ReadonlyMap<string, Lease>,
    signal: AbortSignal,
  ): Response {
    const isGone = hasTables() && readState(sql)?.goneAt != null;
    const own: Waiting = { device, passed: [], leases: new Map(), isGone };
    const endsAt = Date.now() + FOLLOW_MS;
    let at = since;
    let first: string | undefined = leaseEvent(leases);
    let isOver = false;
    waiting.add(own);
    try {
      return readers.open(next, signal, () => waiting.delete(own));
    } catch (error) {
      waiting.delete(own);
      throw error;
    }

    function next(): Next {
      if (isOver || Date.now() >= endsAt) return "end";
      isOver = own.isGone;
      const text = isOver
        ? "event: gone\ndata: {}\n\n"
        : (firstEvent() ?? recordsEvent() ?? own.passed.shift());
      return text === undefined ? "wait" : encoder.encode(text);
    }

    function firstEvent(): string | undefined {
      const told = first ?? (own.leases.size > 0 ? leaseEvent(own.leases) : undefined);
      first = undefined;
      own.leases.clear();
      return told;
    }

    function recordsEvent(): string | undefined {
      const hasAny = hasTables();
      const version = (hasAny ? readState(sql)?.version : undefined) ?? 0;
      if (version === at) return undefined;
      const page = readPage(sql, hasAny, { since: at, limit: USUALLY_LISTED, bytes: EVENT_BYTES });
      at = page.version;
      return `event: records\nid: ${at}\ndata: ${page.json}\n\n`;
    }
  }

  /** Passes records to all devices but the one that sends them. */
  function pass(device: string, records: string): void {
    const event = `event: passed\ndata: {"records":${records},"device":${JSON.stringify(device)}}\n\n`;
    for (const one of waiting) {
      if (one.device === device) continue;
      one.passed.push(event);
      let bytes = one.passed.reduce((sum, text) => sum + bytesOf(text), 0);
      while (bytes > PASSED_BYTES && one.passed.length > 1) bytes -= bytesOf(one.passed.shift() ?? "");
    }
    readers.wake();
  }

  /** Tells all devices of a lease; null for one that is over. */
  function tell(name: string, lease: Lease | null): void {
    for (const one of waiting) one.leases.set(name, lease);
    readers.wake();
  }

  /** Ends all streams of a conversation that is gone. */
  function end(): void {
    for (const one of waiting) one.isGone = true;
    readers.wake();
  }
}

function leaseEvent(leases: ReadonlyMap<string, Lease | null>): string {
  const now = Date.now();
  const told = [...leases].map(([name, lease]) => [
    name,
    lease && { device: lease.device, msLeft: Math.max(0, lease.endsAt - now) },
  ]);
  return `event: leases\ndata: ${JSON.stringify({ leases: Object.fromEntries(told) })}\n\n`;
}
