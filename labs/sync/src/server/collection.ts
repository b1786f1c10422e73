import type { ObjectState } from "@sluice/durable";
import type { Tables } from "@sluice/durable/internal";
import { Refusal } from "@sluice/worker-proxy/internal";
import { exported } from "./export.js";
import { type FollowAsked, openFollowers } from "./followers.js";
import { type Lease, openLeases } from "./leases.js";
import { type PageAsked, readPage } from "./reading.js";
import { type CollectionState, type Owner, readState } from "./record-tables.js";
import { conversationRefusal, type RecordRefusal, recordRefusals } from "./refusals.js";
import { type Change, type Taken, writeRecords } from "./writing.js";

/** Bodies of the requests, which the proxy has checked. */
export interface WriteAsked {
  readonly device: string;
  readonly changes: Readonly<Record<string, Change>>;
  readonly lease?: string;
  /** Leases to give back after the write, unless not all changes are taken. */
  readonly release?: readonly string[];
  /** Size of the changes as JSON, in bytes. */
  readonly bytes: number;
}
export interface PassAsked {
  readonly device: string;
  readonly records: unknown;
}
export interface LeaseAsked {
  readonly device: string;
  readonly name: string;
  readonly ms: number;
  /** Time to wait for another device, in milliseconds. */
  readonly wait: number;
}

/** The part in which the index and a conversation differ. */
export interface CollectionParts {
  readonly state: ObjectState;
  readonly tables: Tables;
  readonly mostRecords: number;
  /**
   * Sees to it that there is room. Returns a function that makes the tables where there are none and returns the most bytes
   * that the records may have: it is called in the turn of the write.
   */
  makeRoom(owner: Owner, bytes: number): Promise<() => number>;
  /** Returns the code of a record that no device may write. @default all are taken */
  readonly refuse?: ((key: string) => RecordRefusal | undefined) | undefined;
  /** Called with what has changed before the state is written. @default nothing */
  readonly note?: ((state: CollectionState, changed: readonly Taken[]) => void) | undefined;
  /** Called in the turn of a write, with what has changed. */
  changed(taken: readonly Taken[], owner: Owner): void;
  /** Called for each record that is refused. */
  refused(key: string, code: RecordRefusal, owner: Owner): void;
}

/** Opens what an index and a conversation share: records with versions, those that follow them, and leases. */
export function openCollection(parts: CollectionParts) {
  const { state, tables, mostRecords, makeRoom, refuse, note, changed, refused } = parts;
  const { sql } = state.storage;
  const followers = openFollowers(state, () => tables.exist());
  const leases = openLeases(sql);
  /** Those who wait for a lease. */
  let waiting: (() => void)[] = [];
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  return {
    read,
    write,
    follow,
    pass,
    take,
    release,
    exportAll,
    end,
    current,
    wake: followers.wake,
    message: followers.message,
  };

  /** The state; undefined for an object that keeps nothing. */
  function current(): CollectionState | undefined {
    return tables.exist() ? readState(sql) : undefined;
  }

  function read(asked: PageAsked): Response {
    return json(readPage(sql, tables.exist(), asked).json);
  }

  async function write(asked: WriteAsked, owner: Owner): Promise<Response> {
    const room = await makeRoom(owner, asked.bytes);
    // nothing is awaited from here to the end of the write
    const now = Date.now();
    const mostBytes = room();
    const { lease, device } = asked;
    if (lease !== undefined && !leases.isHeld(lease, device, now))
      throw conversationRefusal("lease_lost", { what: lease });
    const bounds = { mostRecords, mostBytes, refuse, note };
    const written = writeRecords(sql, asked.changes, bounds, now);
    if (written.changed.length > 0) changed(written.changed, owner);
    for (const [key, code] of written.refused) refused(key, code, owner);
    if (written.changed.length > 0) followers.wake();
    const { version, taken, kept } = written;
    // a device that would go on must find all of what was written here
    if (taken.length === Object.keys(asked.changes).length)
      for (const name of asked.release ?? []) release({ device, name });
    const told = kept.map(
      ([key, there]) => `${JSON.stringify(key)}:{"version":${there.version},"value":${there.value}}`,
    );
    const why = written.refused.map(([key, code]) => [key, { code, message: recordRefusals[code] }]);
    const more = why.length > 0 ? `,"refused":${JSON.stringify(Object.fromEntries(why))}` : "";
    return json(
      `{"version":${version},"taken":${JSON.stringify(Object.fromEntries(taken))},"kept":{${told}}${more}}`,
    );
  }

  function follow(asked: FollowAsked, request: Request): Response {
    return followers.follow(asked, tables.exist() ? leases.all(Date.now()) : new Map(), request);
  }

  function pass({ device, records }: PassAsked): Response {
    followers.pass(device, JSON.stringify(records));
    return new Response(null, { status: 204 });
  }

  async function take(
    { device, name, ms, wait }: LeaseAsked,
    owner: Owner,
    signal: AbortSignal,
  ): Promise<Response> {
    const endsAt = Date.now() + wait;
    for (;;) {
      const room = await makeRoom(owner, 0);
      const now = Date.now();
      room();
      const other = leases.take(name, device, ms, now);
      if (!other) {
        tellOf(name, { device, endsAt: now + ms });
        return Response.json({ isHeld: true });
      }
      const msLeft = other.endsAt - now;
      if (now >= endsAt || signal.aborted) return Response.json({ isHeld: false, msLeft });
      await freed(Math.min(msLeft, endsAt - now), signal);
    }
  }

  function release({ device, name }: Pick<LeaseAsked, "device" | "name">): Response {
    if (tables.exist() && leases.release(name, device, Date.now())) tellOf(name, null);
    return new Response(null, { status: 204 });
  }

  /** Resolves when a lease is given back, or after a time. */
  function freed(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", done);
      waiting.push(done);
      function done(): void {
        clearTimeout(timer);
        waiting = waiting.filter((other) => other !== done);
        signal.removeEventListener("abort", done);
        resolve();
      }
    });
  }

  /** Tells all devices of a lease, and of its end where this object is still awake then. */
  function tellOf(name: string, lease: Lease | null): void {
    clearTimeout(timers.get(name));
    timers.delete(name);
    if (lease)
      timers.set(
        name,
        later(() => tellOf(name, null), lease.endsAt - Date.now()),
      );
    followers.tell(name, lease);
    if (lease) return;
    for (const wake of waiting) wake();
  }

  function exportAll(): Response {
    return new Response(
      exported(sql, () => tables.exist()),
      { headers: { "content-type": "application/x-ndjson" } },
    );
  }

  /** Ends all streams, because everything is gone. */
  function end(): void {
    for (const timer of timers.values()) clearTimeout(timer);
    timers.clear();
    followers.end();
  }
}

/** A timer that keeps no process. */
function later(act: () => void, ms: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(act, ms);
  (timer as { unref?: () => void }).unref?.();
  return timer;
}

function json(text: string): Response {
  return new Response(text, { headers: { "content-type": "application/json" } });
}

/** Answers a request to an object by its method and path. @throws {Refusal} */
export async function answerFrom(
  { read, write, follow, pass, take, release, exportAll }: ReturnType<typeof openCollection>,
  request: Request,
  owner: Owner,
): Promise<Response> {
  const { pathname } = new URL(request.url);
  const asked = request.method === "GET" ? undefined : ((await request.json()) as unknown);
  const question = JSON.parse(decodeURIComponent(new URL(request.url).search.slice(1) || "{}")) as unknown;
  switch (`${request.method} ${pathname}`) {
    case "GET /records":
      return read(question as PageAsked);
    case "POST /records":
      return await write(asked as WriteAsked, owner);
    case "GET /follow":
      return follow(question as FollowAsked, request);
    case "POST /pass":
      return pass(asked as PassAsked);
    case "POST /leases":
      return await take(asked as LeaseAsked, owner, request.signal);
    case "DELETE /leases":
      return release(asked as LeaseAsked);
    case "GET /export":
      return exportAll();
    default:
      throw new Refusal("not_found");
  }
}
