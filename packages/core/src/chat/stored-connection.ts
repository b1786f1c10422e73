import { parseJSON } from "../transport/error-response.js";
import { MAX_LENGTH } from "../transport/event-stream.js";
import { createBodyReader, createToBytes } from "../transport/read-body.js";
import { isErrorEvent } from "./protocol/reported-error.js";

const GAP = "events of the kept answer are missing";

/** An event of the stream that says that the proxy has lost the gateway. Over HTTP such a cut looks like a normal end. */
const UPSTREAM_CUT = /"code":\s*"upstream_cut"/;

/** A connection that is over before the answer. */
export interface Lost {
  /** Error of the connection; undefined where it ended like a whole body. */
  readonly cause?: unknown;
  /** True where the proxy has lost the gateway. */
  readonly isUpstream?: boolean;
}

/** One connection of a stored answer. */
export interface StoredConnection {
  /** Set once the connection is over. */
  readonly lost: Lost | undefined;
  /** True once `[DONE]` has come. */
  readonly isDone: boolean;
  /** True if the last read brought an event that was not known. */
  readonly hasProgress: boolean;
  /** Bytes that are passed on only where no other connection continues: an event that was cut, or the sign of a cut. */
  readonly rest: string;
  /** Reads the next events that are not known; empty where there are none, or the connection is over. */
  read(): Promise<string>;
  lose(reason: unknown): void;
  cancel(reason?: unknown): Promise<void>;
}

/** Opens a connection. `cursor` knows the events of those before it. */
export function openStoredConnection(response: Response, cursor: EventCursor): StoredConnection {
  const reader = createBodyReader(response);
  const bytesOf = createToBytes();
  const decoder = new TextDecoder();
  /** Text that is not a whole event yet. */
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
        if (!done) return takeEvents(decoder.decode(await bytesOf(value), { stream: true }));
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

  /** Splits the text at blank lines, and returns the events that are not known. */
  function takeEvents(given: string): string {
    // a CR at the end may be half of a line end
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
    // the parser refuses an event of this length
    const long = text;
    text = "";
    return events + long;
  }

  /** Returns true for an event to pass on. Loses the connection where events are missing, or the proxy lost the gateway. */
  function isNew(text: string): boolean {
    const { event, data, id } = readEvent(text);
    if (data === undefined) return true;
    if (UPSTREAM_CUT.test(data)) return loseUpstream(text);
    const position = cursor.findPosition(id);
    // an error needs no place
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
 * Place of an event in an answer that the proxy keeps.
 *
 * - `next`: it follows the last event
 * - `known`: it was read before
 * - `gap`: events lack before it, or its place is unknown
 */
type EventPosition = "next" | "known" | "gap";

/** Cursor of a kept answer: an answer that is read over several connections has each event once, and none is missing. */
export interface EventCursor {
  /** Id of the last event in order; empty before the first. An event without an id does not change it. */
  readonly id: string;
  /** Finds the place of an event by its own id, empty where it has none. */
  findPosition(id: string): EventPosition;
  /** Moves to the next event. */
  moveTo(id: string): void;
  /** Continues with another connection. */
  restart(): void;
}

/** Creates the cursor before the first event. */
export function createEventCursor(): EventCursor {
  /** Ids that are no numbers have no order: all are kept, to know them again. */
  const known = new Set<string>();
  let isResumed = false;
  let hasEventsWithoutId = false;
  const cursor = {
    id: "",
    findPosition,
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

  function findPosition(id: string): EventPosition {
    // after another connection, an event without an id may be a repetition
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
