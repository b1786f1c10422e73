import {
  type ErrorFields,
  errorFieldsOf,
  excerpt,
  isRecord,
  parseJSON,
} from "../../transport/error-response.js";
import { createEventParser, MAX_LENGTH, type ServerSentEvent } from "../../transport/event-stream.js";
import type { EventCursor } from "./event-cursor.js";
import type { WireObject } from "./field-reader.js";
import type { FrameReader } from "./frame-reading.js";
import type { StrayLines } from "./stray-lines.js";

/** End of the bytes of a stream, by the content before it. */
export type StreamEnd =
  /** `[DONE]`, or a whole JSON answer in place of a stream. */
  | { readonly type: "done"; readonly words?: undefined; readonly cause?: undefined }
  /** The bytes ended without a sign that the answer has ended. `words`: a text that came in place of the rest. */
  | { readonly type: "cut"; readonly words?: string | undefined; readonly cause?: unknown }
  /** An error came in the stream: in a frame, as an `error` event, or as a line. */
  | { readonly type: "error"; readonly fields: SaidError }
  /** No part of an answer came, with any HTTP status. The body was an error, a page, a text, or other JSON. */
  | { readonly type: "refusal"; readonly body: string; readonly fields?: ErrorFields | undefined }
  /** A part of the stream could not be read. */
  | { readonly type: "malformed"; readonly problem: string; readonly cause?: unknown };

/** An error with its words. */
export type SaidError = ErrorFields & { readonly message: string };

/** The consumer of a chunk parser. Nothing comes after `onEnd`. */
export interface ChunkHandlers {
  /** Returns true for an answer that may be read over several connections: the ids of its events then count. */
  isKept(): boolean;
  onChunk(chunk: WireObject): void;
  /** Returns true once a part of an answer has come. */
  hasBegun(): boolean;
  /** Returns true once a `finish_reason` has come. */
  hasFinished(): boolean;
  onEnd(end: StreamEnd): void;
}

/** Kept, because an import is work, also of a known module. The module, so that no Worker's request waits for another. */
let reading: typeof import("./frame-reading.js") | undefined;

/** Turns the bytes of a chat stream into chunks, and reports how they ended. It never throws. */
export function createChunkParser({ isKept, onChunk, hasBegun, hasFinished, onEnd }: ChunkHandlers) {
  /** The `id` of the event that is read. */
  let eventId = "";
  const handlers = {
    onEvent: readEvent,
    onId(id: string) {
      eventId = id;
    },
    onUnknownField(name: string, value: string) {
      hasStray = true;
      stray?.add(name, value, isLastLine);
    },
  };
  let events = createEventParser(handlers);
  let stray: StrayLines | undefined;
  let hasStray = false;
  /** Place in an answer that is kept; undefined before the code for it is loaded. */
  let cursor: EventCursor | undefined;
  let isResumed = false;
  /** True while the last line is read, which the end of the bytes may have cut. */
  let isLastLine = false;
  const decoder = new TextDecoder();
  let frames = plainFrames;
  // while the request is out
  let loading: Promise<void> | undefined;
  if (reading) prepare();
  else
    loading = import("./frame-reading.js")
      .then((loaded) => {
        reading = loaded;
      })
      .catch(() => {})
      .then(prepare);
  let isStream: boolean | undefined;
  let whole = "";
  let ended = false;
  /** The first text that belongs to no answer. */
  let foreign: string | undefined;

  return {
    /** Last `id` of an event that was read, of an answer that is kept; empty where none had one. */
    get lastEventId() {
      return cursor?.id ?? "";
    },
    /**
     * Reads the next bytes; without any, the bytes have ended. Returns a promise where the code for it is still being
     * loaded: they are read then.
     */
    push: (bytes?: Uint8Array): Promise<void> | undefined =>
      loading ? loading.then(() => readFirst(bytes)) : readNext(bytes),
    /**
     * Continues with the bytes of another connection, from the start of an event. The unfinished event of the last one
     * is dropped.
     */
    restart(): void {
      events = createEventParser(handlers);
      stray = reading?.createStrayLines(endWithError);
      isResumed = true;
      cursor?.restart();
      eventId = "";
      ended = isLastLine = false;
    },
  };

  function prepare(): void {
    if (!reading) return;
    frames = reading.createFrameReader(parseJSON);
    stray = reading.createStrayLines(endWithError);
    cursor = reading.createEventCursor();
    if (isResumed) cursor.restart();
  }

  /** Reads bytes that waited. Only then later ones need not wait: they must not be read before. */
  function readFirst(bytes: Uint8Array | undefined): void {
    loading = undefined;
    readNext(bytes);
  }

  function readNext(bytes: Uint8Array | undefined): undefined {
    try {
      if (bytes) readBytes(bytes);
      else readEnd();
    } catch (cause) {
      end({ type: "malformed", problem: `the stream can't be read: ${(cause as Error).message}`, cause });
    }
  }

  function readBytes(bytes: Uint8Array): void {
    if (isStream === undefined) isStream = looksLikeStream(bytes);
    if (isStream !== false && !ended) events.push(bytes);
    if (isStream || ended) return;
    const isInFirstLine = !whole.trim().includes("\n");
    whole += decoder.decode(bytes, { stream: true });
    if (whole.length > MAX_LENGTH) throw new RangeError(`it is longer than ${MAX_LENGTH} characters`);
    if (isInFirstLine) readFirstLine();
  }

  /** Ends with an error in the first line, because a stream may follow it and the connection may stay open. */
  function readFirstLine(): void {
    const [line = "", rest] = whole.trimStart().split("\n", 2);
    if (rest !== undefined && frames.isError(noEvent, parseJSON(line))) refuse(line);
  }

  function readEnd(): void {
    if (isStream === false) return readWhole(whole + decoder.decode());
    isLastLine = true;
    const unfinished = events.end();
    if (ended) return;
    // an event without its blank line counts if it is whole; `[DONE]` often comes so
    if (unfinished && isWholeEvent(unfinished)) readEvent(unfinished);
    closeStray();
    end({ type: "cut", words: stray?.words });
  }

  function readEvent(given: ServerSentEvent): void {
    const { event, data } = given;
    const id = eventId;
    eventId = "";
    closeStray();
    if (ended) return;
    if (isDone(data)) return isNext(id) ? end({ type: "done" }) : undefined;
    const chunk = frames.parse(data);
    const hasFailed = frames.isError(given, chunk);
    if (data === "" && !hasFailed) return;
    if (isRecord(chunk)) {
      // the frame of an error may have the last content
      if ((!hasFailed || chunk.choices) && isNext(id)) onChunk(chunk);
      if (chunk.choices === undefined) foreign ??= data;
    }
    if (hasFailed) endWithError(data);
    // an event of another name is not part of the chat, and may carry anything
    else if (!isRecord(chunk) && event === "message")
      end({ type: "malformed", problem: `a frame of the stream is no JSON object: ${data.slice(0, 80)}` });
  }

  /** Returns true for the event that follows the last one. Ends where its place is unknown; an error needs no place. */
  function isNext(id: string): boolean {
    if (!isKept()) return true;
    // without the cursor, nothing shows that an event of another connection was not read before
    const place = cursor?.moveTo(id) ?? (isResumed ? "astray" : "next");
    if (place === "astray") end({ type: "cut", cause: new Error(ASTRAY) });
    return place === "next";
  }

  function closeStray(): void {
    if (!hasStray) return;
    stray?.close();
    foreign ??= stray?.words;
  }

  function readWhole(text: string): void {
    const json = parseJSON(text);
    const { choices } = isRecord(json) ? json : {};
    const [choice] = Array.isArray(choices) ? choices : [];
    // a completion has a message; any other JSON with status 200 is an error of the gateway
    if (!isRecord(choice?.message ?? choice?.delta)) return refuse(bodyOf(text));
    onChunk(json as WireObject);
    if (frames.isError(noEvent, json)) endWithError(text);
    else end({ type: "done" });
  }

  function endWithError(text: string): void {
    if (ended) return;
    if (!hasBegun() && isRecord(parseJSON(text))) return refuse(text);
    const fields = fieldsOf(text);
    const message = fields.message ?? `the gateway reported an error: ${excerpt(text, 500)}`;
    end({ type: "error", fields: { ...fields, message } });
  }

  function refuse(body: string): void {
    const isJSON = /^\s*[{[]/.test(body);
    end({ type: "refusal", body, fields: isJSON ? fieldsOf(body.trim()) : undefined });
  }

  function end(how: StreamEnd): void {
    if (ended) return;
    ended = true;
    const { words } = stray ?? {};
    const isEmpty = !hasBegun() && (how.type === "done" || (how.type === "cut" && foreign !== undefined));
    if (isEmpty) onEnd({ type: "refusal", body: foreign ?? "" });
    // a text came in place of the rest
    else if (how.type === "done" && words && !hasFinished())
      onEnd({ type: "error", fields: { message: words } });
    else onEnd(how);
  }
}

const ASTRAY = "events of the kept answer are missing";

/**
 * Returns false for an error, a page or an answer in place of a stream: no line of an event stream begins with a
 * bracket. Undefined where the bytes do not show it.
 */
function looksLikeStream(bytes: Uint8Array): boolean | undefined {
  // skips a byte order mark: all its bytes are beyond ASCII
  const first = bytes.find((byte) => byte > 0x20 && byte < 0x80);
  return first === undefined ? undefined : !"<{[".includes(String.fromCharCode(first));
}

/** JSON outside of an event stream. */
const noEvent = { event: "", data: "" };

/** Reads frames without the code for them: more slowly, and it knows only the usual form of an error. */
const plainFrames: FrameReader = {
  parse: parseJSON,
  isError: ({ event }, json) => event === "error" || (isRecord(json) && !!json.error),
};

function fieldsOf(text: string): ErrorFields {
  return reading?.errorFieldsOfText(text) ?? errorFieldsOf(parseJSON(text) ?? text) ?? {};
}

function isDone(data: string): boolean {
  return data.trimEnd() === "[DONE]";
}

function isWholeEvent({ event, data }: ServerSentEvent): boolean {
  return isDone(data) || isRecord(parseJSON(data)) || (/error/i.test(event) && !/^[{[]/.test(data));
}

/** Returns a body without the events behind it. */
function bodyOf(text: string): string {
  const events = text.search(/\n(?:data|event):/);
  return events === -1 ? text : text.slice(0, events);
}
