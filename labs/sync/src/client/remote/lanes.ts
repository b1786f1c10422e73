import type { Client } from "@sluice/core";
import { createBackoff, toIdleClock } from "@sluice/core/extend";
import type { Backoff } from "../base.js";
import type { Outbox } from "./outbox.js";
import type { Place } from "./place.js";
import type { SentChange } from "./wire.js";

/** Most records of one request. */
export const MOST_RECORDS = 500;

/** State of the sending of one collection. */
export interface Lane {
  readonly place: Place;
  readonly backoff: Backoff;
  holds: number;
  isWaiting: boolean;
  isSending: boolean;
  /** Changes of the last request, by key. */
  sent: ReadonlyMap<string, SentChange>;
  /** Most records of one request; less where the server refuses them together. */
  most: number;
}

/** The sending of all collections. */
export interface Lanes {
  /** Returns the lane of a collection; undefined for one that no server has. */
  of(collection: string): Lane | undefined;
  /** Returns a lane with something to send now. */
  next(): Lane | undefined;
  /** Returns true if a lane has something to send, and does not wait. */
  isDue(lane: Lane): boolean;
  /** Returns the changes of a collection that are on their way, by key. */
  sent(collection: string): ReadonlyMap<string, SentChange>;
  /** Lets a lane wait after a failure. Calls `resume` when it is over. */
  wait(lane: Lane, error: Error, resume: () => void): void;
}

/** Creates the lanes of an outbox. */
export function createLanes(
  client: Client,
  outbox: Outbox,
  placeOf: (collection: string) => Place | undefined,
): Lanes {
  const all = new Map<string, Lane>();
  return {
    of,
    next() {
      for (const collection of outbox.collections) {
        const lane = of(collection);
        if (lane && isDue(lane)) return lane;
      }
      return undefined;
    },
    isDue,
    sent(collection) {
      const lane = of(collection);
      return lane?.isSending ? lane.sent : new Map();
    },
    wait(lane, error, resume) {
      lane.isWaiting = true;
      const end = () => {
        lane.isWaiting = false;
        resume();
      };
      lane.backoff.wait(error).then(end, end);
    },
  };

  function isDue({ place, holds, isWaiting }: Lane): boolean {
    if (holds > 0 || isWaiting) return false;
    for (const { refusal } of outbox.of(place.collection).values()) if (!refusal) return true;
    return false;
  }

  function of(collection: string): Lane | undefined {
    const place = placeOf(collection);
    if (!place) return undefined;
    const lane = all.get(collection) ?? createLane(client, place);
    all.set(collection, lane);
    return lane;
  }
}

function createLane({ clock, random }: Client, place: Place): Lane {
  const limits = { limit: Number.POSITIVE_INFINITY, firstMs: 1000, longestMs: 60_000 };
  return {
    place,
    backoff: createBackoff({ clock: toIdleClock(clock), random }, limits),
    holds: 0,
    isWaiting: false,
    isSending: false,
    sent: new Map(),
    most: MOST_RECORDS,
  };
}
