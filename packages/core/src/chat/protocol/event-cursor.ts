/**
 * Place of an event in an answer that the proxy keeps.
 *
 * - `next`: it follows the last event
 * - `known`: it was read before
 * - `astray`: events lack before it, or its place is unknown
 */
export type EventPlace = "next" | "known" | "astray";

/** Cursor of a kept answer: an answer that is read over several connections has each event once, and none is missing. */
export interface EventCursor {
  /** Id of the last event in order; empty before the first. An event without an id does not change it. */
  readonly id: string;
  /** Finds the place of an event by its own id, empty where it has none, and moves to it if it is the next one. */
  moveTo(id: string): EventPlace;
  /** Continues with another connection. */
  restart(): void;
}

/** Creates the cursor before the first event. */
export function createEventCursor(): EventCursor {
  /** Ids that are no numbers have no order: all are kept, to know them again. */
  const known = new Set<string>();
  let isResumed = false;
  let hasUnplaced = false;
  const cursor = {
    id: "",
    moveTo(id: string): EventPlace {
      const place = placeOf(id);
      if (place !== "next") return place;
      if (id === "") hasUnplaced = true;
      else cursor.id = id;
      if (id !== "" && !isNumber(id)) known.add(id);
      return place;
    },
    restart() {
      isResumed = true;
    },
  };
  return cursor;

  function placeOf(id: string): EventPlace {
    // after another connection, an event without an id may be a repetition
    if (isResumed && (id === "" || hasUnplaced)) return "astray";
    if (id === "") return "next";
    if (cursor.id !== "" && isNumber(id) !== isNumber(cursor.id)) return "astray";
    if (!isNumber(id)) return known.has(id) ? "known" : "next";
    // the first event is 0 or 1
    const last = cursor.id === "" ? Math.min(Number(id), 1) - 1 : Number(cursor.id);
    const steps = Number(id) - last;
    if (steps <= 0) return "known";
    return steps === 1 ? "next" : "astray";
  }
}

function isNumber(id: string): boolean {
  return /^\d{1,15}$/.test(id);
}
