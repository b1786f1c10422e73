import type { ObjectState } from "@sluice/durable";
import { type ObjectSocket, objectRefusal, openReaders } from "@sluice/durable/internal";
import { BEAT_MS, openEventStream, PASSED } from "./event-stream.js";
import type { Lease } from "./leases.js";
import { readPage, USUALLY_LISTED } from "./reading.js";
import { readState } from "./record-tables.js";
import { attempt, GONE, openPair } from "./sockets.js";

/** A device that follows a conversation, and where it begins. */
export interface FollowAsked {
  /** The version that it has; 0 for nothing. */
  readonly since: number;
  /** The device, which does not get what it passes itself. */
  readonly device?: string | undefined;
}

/** The place of a device in the changes. */
interface Place {
  readonly device: string | undefined;
  /** The version up to which it was told everything. */
  readonly at: number;
  /** True while it has taken everything, and waits. */
  readonly isWaiting: boolean;
}

/** A device that follows, here or at the other end of a socket. */
interface Follower {
  place(): Place;
  move(place: Place): void;
  push(event: string): void;
  end(): void;
}

/** Most streams of one conversation. */
const MOST = 100;
/** Most records of one event, in bytes. */
const EVENT_BYTES = 1024 * 1024;

/**
 * Opens the streams of one object. Each device gets records from its own place when it has taken those before, so that
 * none are buffered for a slow one. Where the platform has sockets, the stream is held by the proxy, and the object may
 * sleep: the places are stored with the sockets.
 */
export function openFollowers(state: ObjectState, hasTables: () => boolean) {
  const { sql } = state.storage;
  const readers = openReaders(MOST, BEAT_MS);
  const here = new Set<Follower>();
  return { follow, pass, tell, wake, end, message };

  /** @throws {Refusal} 429 `too_many_readers` */
  function follow(asked: FollowAsked, leases: ReadonlyMap<string, Lease>, request: Request): Response {
    if (all().length >= MOST)
      throw objectRefusal("too_many_readers", { what: MOST, headers: { "retry-after": "60" } });
    const { response, follower } = connect(asked, leaseEvent(leases), request);
    if (hasTables() && readState(sql)?.goneAt != null) endOne(follower);
    return response;
  }

  function connect({ since, device }: FollowAsked, first: string, request: Request) {
    let place: Place = { device, at: since, isWaiting: false };
    const pair = request.headers.has("upgrade") && state.acceptWebSocket ? openPair() : undefined;
    if (pair) {
      state.acceptWebSocket?.(pair.socket);
      const follower = followerAt(pair.socket);
      follower.move(place);
      follower.push(first);
      return { response: pair.response, follower };
    }
    const { response, push, end } = openEventStream(readers, request.signal, {
      first,
      more: () => sendMore(follower),
      left: () => here.delete(follower),
    });
    const follower: Follower = {
      place: () => place,
      move: (next) => {
        place = next;
      },
      push,
      end,
    };
    here.add(follower);
    return { response, follower };
  }

  function all(): readonly Follower[] {
    return [...here, ...(state.getWebSockets?.() ?? []).map(followerAt)];
  }

  /** Called with a message of a socket: the device at its other end has taken everything. */
  function message(socket: ObjectSocket): void {
    sendMore(followerAt(socket));
  }

  /** Sends what follows the place of a device, or lets it wait. */
  function sendMore(follower: Follower): void {
    const place = follower.place();
    const hasAny = hasTables();
    const state = hasAny ? readState(sql) : undefined;
    // a lease alone is nothing to read
    const hasSome = state && (place.at > 0 || state.records > 0 || state.removals > 0);
    const version = hasSome ? state.version : 0;
    if (version === place.at) {
      if (!place.isWaiting) follower.move({ ...place, isWaiting: true });
      return;
    }
    const page = readPage(sql, hasAny, { since: place.at, limit: USUALLY_LISTED, bytes: EVENT_BYTES });
    follower.move({ ...place, at: page.version, isWaiting: false });
    follower.push(`event: records\nid: ${page.version}\ndata: ${page.json}\n\n`);
  }

  /** Sends what is new to the devices that wait. */
  function wake(): void {
    for (const follower of all()) if (follower.place().isWaiting) sendMore(follower);
  }

  /** Passes records to all devices but the one that sends them. */
  function pass(device: string, records: string): void {
    const event = `${PASSED}data: {"records":${records},"device":${JSON.stringify(device)}}\n\n`;
    for (const follower of all()) if (follower.place().device !== device) follower.push(event);
  }

  /** Tells all devices of a lease; null for one that is over. */
  function tell(name: string, lease: Lease | null): void {
    for (const follower of all()) follower.push(leaseEvent(new Map([[name, lease]])));
  }

  /** Ends all streams of a conversation that is gone. */
  function end(): void {
    all().forEach(endOne);
  }
}

function endOne(follower: Follower): void {
  follower.push(GONE);
  follower.end();
}

/** The device at the other end of a socket; its place is stored with it. */
function followerAt(socket: ObjectSocket): Follower {
  return {
    place: () => socket.deserializeAttachment() as Place,
    move: (place) => socket.serializeAttachment(place),
    push: (event) => attempt(() => socket.send(event)),
    end: () => attempt(() => socket.close(1000, "gone")),
  };
}

function leaseEvent(leases: ReadonlyMap<string, Lease | null>): string {
  const now = Date.now();
  const told = [...leases].map(([name, lease]) => [
    name,
    lease && { device: lease.device, msLeft: Math.max(0, lease.endsAt - now) },
  ]);
  return `event: leases\ndata: ${JSON.stringify({ leases: Object.fromEntries(told) })}\n\n`;
}
