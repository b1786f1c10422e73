import { parseJSON } from "../transport/error-response.js";
import { MAX_LENGTH } from "../transport/event-stream.js";
import { createBodyReader } from "../transport/read-body.js";
import { isErrorEvent } from "./protocol/reported-error.js";

const GAP = "events of the stored response are missing";

/** An event of the proxy after it has lost the gateway. Over HTTP, the break would look like a normal end. */
const UPSTREAM_CUT = /"code":\s*"upstream_cut"/;

/** A connection that ended before the response. */
export interface Lost {
  /** Error of the connection; undefined if the body ended normally. */
  readonly cause?: unknown;
  /** True if the proxy has lost the gateway. */
  readonly isUpstream?: boolean;
}

/** One connection of a stored response. */
export interface StoredConnection {
  /** Set once the connection has ended. */
  readonly lost: Lost | undefined;
  /** True once `[DONE]` has arrived. */
  readonly isDone: boolean;
  /** True if the last read returned a new event. */
  readonly hasProgress: boolean;
  /** Text to forward only if no other connection continues: a truncated event, or the proxy's break event. */
  readonly rest: string;
  /** Reads the next new events; empty if there are none or the connection has ended. */
  read(): Promise<string>;
  lose(reason: unknown): void;
  cancel(reason?: unknown): Promise<void>;
}

/** Opens a connection. `cursor` knows the events of earlier connections. */
export function openStoredConnection(response: Response, cursor: EventCursor): StoredConnection {
  const reader = createBodyReader(response);
  const decoder = new TextDecoder();
  /** Text of an incomplete event. */
  let text = "";
  let searchedTo = 0;
  let heldCR = "";
  const connection = {
    lost: undefined as Lost | undefined,
    isDone: false,
    hasProgress: false,
    rest: "",
    async read() {
      connection.hasProgress = false;
      if (connection.lost) return "";
      try {
        const { done, value } = await reader.read();
        if (connection.lost) return "";
        if (!done) return takeEvents(decoder.decode(value as Uint8Array, { stream: true }));
        connection.rest = text;
        connection.lost = {};
      } catch (cause) {
        connection.lost ??= { cause };
      }
      return "";
    },
    lose(cause: unknown) {
      connection.lost ??= { cause };
      void connection.cancel(cause);
    },
    cancel: (reason?: unknown) => reader.cancel(reason).catch(() => {}),
  };
  return connection;

  /** Splits the text at blank lines and returns the new events. */
  function takeEvents(given: string): string {
    // a CR at the end may be half of a line break
    const whole = heldCR + given;
    heldCR = whole.endsWith("\r") ? "\r" : "";
    text += whole.slice(0, whole.length - heldCR.length).replace(/\r\n?/g, "\n");
    let events = "";
    let start = 0;
    for (let at = text.indexOf("\n\n", searchedTo); at !== -1; at = text.indexOf("\n\n", start)) {
      const event = text.slice(start, at + 2);
      start = at + 2;
      if (connection.lost || !isNew(event)) continue;
      events += event;
      connection.hasProgress = true;
    }
    text = text.slice(start);
    searchedTo = Math.max(0, text.length - 1);
    if (text.length <= MAX_LENGTH) return events;
    // the parser rejects an event of this length
    const long = text;
    text = "";
    return events + long;
  }

  /**
   * Returns true for an event to forward. Drops the connection if events are missing or the proxy has lost the gateway.
   */
  function isNew(text: string): boolean {
    const { event, data, id } = readEvent(text);
    if (data === undefined) return true;
    if (UPSTREAM_CUT.test(data)) return loseUpstream(text);
    const position = cursor.locate(id);
    // an error event needs no position
    if (position !== "next") {
      if (isErrorEvent({ event, data }, parseJSON(data))) return true;
      if (position === "gap") connection.lose(new Error(GAP));
      return false;
    }
    cursor.moveTo(id);
    connection.isDone ||= data.trimEnd() === "[DONE]";
    return true;
  }

  function loseUpstream(text: string): false {
    connection.rest = text;
    connection.lost = { isUpstream: true };
    void connection.cancel();
    return false;
  }
}

/** Reads the fields of an event. */
function readEvent(text: string): { event: string; data: string | undefined; id: string } {
  let event = "message";
  let data: string | undefined;
  let id = "";
  for (const line of text.split("\n")) {
    const [, name, value = ""] = /^(data|event|id)(?:: ?(.*))?$/.exec(line) ?? [];
    if (name === "data") data = data === undefined ? value : `${data}\n${value}`;
    else if (name === "event") event = value || event;
    else if (name === "id" && !value.includes("\0")) id = value;
  }
  return { event, data, id };
}

/**
 * Position of an event in a stored response.
 *
 * - `next`: it follows the last event
 * - `known`: it was read before
 * - `gap`: events are missing before it, or its position is unknown
 */
type EventPosition = "next" | "known" | "gap";

/**
 * Cursor of a stored response. It ensures that a response read through several connections contains each event exactly
 * once.
 */
export interface EventCursor {
  /** Id of the last event; empty before the first one. An event without an id does not change it. */
  readonly id: string;
  /** Finds the position of an event by its id, which may be empty. */
  locate(id: string): EventPosition;
  /** Moves to the next event. */
  moveTo(id: string): void;
  /** Continues with another connection. */
  restart(): void;
}

/** Creates the cursor before the first event. */
export function createEventCursor(): EventCursor {
  /** Ids that are not numbers have no order, so the cursor remembers all of them. */
  const known = new Set<string>();
  let isResumed = false;
  let hasEventsWithoutId = false;
  const cursor = {
    id: "",
    locate,
    moveTo(id: string) {
      if (id === "") hasEventsWithoutId = true;
      else cursor.id = id;
      if (id !== "" && !isNumber(id)) known.add(id);
    },
    restart() {
      isResumed = true;
    },
  };
  return cursor;

  function locate(id: string): EventPosition {
    // after a reconnect, an event without an id may be a repetition
    if (isResumed && (id === "" || hasEventsWithoutId)) return "gap";
    if (id === "") return "next";
    if (cursor.id !== "" && isNumber(id) !== isNumber(cursor.id)) return "gap";
    if (!isNumber(id)) return known.has(id) ? "known" : "next";
    // the first event is 0 or 1
    const last = cursor.id === "" ? Math.min(Number(id), 1) - 1 : Number(cursor.id);
    const steps = Number(id) - last;
    if (steps <= 0) return "known";
    return steps === 1 ? "next" : "gap";
  }
}

function isNumber(id: string): boolean {
  return /^\d{1,15}$/.test(id);
}
