import { type ErrorFields, errorFieldsOf, isRecord, parseJSON } from "../../transport/error-response.js";
import { createEventParser, MAX_LENGTH, type ServerSentEvent } from "../../transport/event-stream.js";
import type { WireObject } from "./field-reader.js";

/** End of the bytes of a stream, by the content before it. */
export type StreamEnd =
  /** `[DONE]`, or a whole JSON answer in place of a stream. */
  | { readonly type: "done" }
  /** The bytes ended without a sign that the answer has ended. */
  | { readonly type: "cut" }
  /** An error came in the stream: in a frame, as an `error` event, or as a line. */
  | { readonly type: "error"; readonly fields: ErrorFields }
  /** No part of an answer came, with any HTTP status. The body was an error, a page, a text, or other JSON. */
  | { readonly type: "refusal"; readonly body: string }
  /** A part of the stream could not be read. */
  | { readonly type: "malformed"; readonly problem: string; readonly cause?: unknown };

/** The consumer of a chunk parser. Nothing comes after `onEnd`. */
export interface ChunkHandlers {
  /** Receives a chunk. `eventId` is the last `id` of the stream up to this chunk; empty where it has none. */
  onChunk(chunk: WireObject, eventId: string): void;
  /** Returns true once a part of an answer has come. */
  hasBegun(): boolean;
  onEnd(end: StreamEnd): void;
}

/** Kept, because an import is work, also of a known module. The module, so that no Worker's request waits for another. */
let frames: typeof import("./frame-json.js") | undefined;

/** Turns the bytes of a chat stream into chunks, and reports how they ended. It never throws. */
export function createChunkParser({ onChunk, hasBegun, onEnd }: ChunkHandlers) {
  const handlers = { onEvent: readEvent, onUnknownField: readStrayLine };
  let events = createEventParser(handlers);
  const decoder = new TextDecoder();
  let parse = parseJSON;
  // while the request is out: without it, frames are only read more slowly
  if (frames) parse = frames.createFrameParser(parseJSON);
  else
    import("./frame-json.js").then(
      (loaded) => {
        frames = loaded;
        parse = frames.createFrameParser(parseJSON);
      },
      () => {},
    );
  let isStream: boolean | undefined;
  let whole = "";
  let ended = false;
  /** The first text that belongs to no answer. */
  let foreign: string | undefined;

  return {
    /** Reads the next bytes; without any, the bytes have ended. */
    push(bytes?: Uint8Array): void {
      try {
        if (bytes) readBytes(bytes);
        else readEnd();
      } catch (cause) {
        end({ type: "malformed", problem: `the stream can't be read: ${(cause as Error).message}`, cause });
      }
    },
    /**
     * Continues with the bytes of another connection, from the start of an event. The unfinished event of the last one
     * is dropped.
     */
    restart(): void {
      events = createEventParser(handlers);
      ended = false;
    },
  };

  function readBytes(bytes: Uint8Array): void {
    if (isStream === undefined) isStream = looksLikeStream(bytes);
    if (isStream !== false && !ended) events.push(bytes);
    if (isStream) return;
    whole += decoder.decode(bytes, { stream: true });
    if (whole.length > MAX_LENGTH) throw new RangeError(`it is longer than ${MAX_LENGTH} characters`);
  }

  function readEnd(): void {
    if (isStream === false) return readWhole(whole + decoder.decode());
    const unfinished = events.end();
    if (ended) return;
    // an event without its blank line counts if its JSON is whole; `[DONE]` often comes so
    if (unfinished && (isDone(unfinished.data) || isRecord(parseJSON(unfinished.data))))
      readEvent(unfinished);
    end({ type: "cut" });
  }

  function readEvent({ event, data, lastEventId }: ServerSentEvent): void {
    if (ended || data === "") return;
    if (event === "error") return endWithError(data);
    if (isDone(data)) return end({ type: "done" });
    const chunk = parse(data);
    if (!isRecord(chunk)) {
      // an event of another name is not part of the chat, and may carry anything
      if (event === "message")
        end({ type: "malformed", problem: `a frame of the stream is no JSON object: ${data.slice(0, 80)}` });
    } else if (isErrorFrame(chunk)) endWithError(data);
    else {
      onChunk(chunk, lastEventId);
      if (chunk.choices === undefined) foreign ??= data;
    }
  }

  /** Reads an error that a gateway sends as a bare line, `error: {…}`. A line that was cut is a cut, not an error. */
  function readStrayLine(name: string, value: string): void {
    const isCut = value.startsWith("{") && parseJSON(value) === undefined;
    if (name === "error" && !isCut) endWithError(value);
    // a text that may begin a known field was cut; any other text came in place of a stream
    else if (!FIELDS.some((field) => field.startsWith(name.trim())))
      foreign ??= value ? `${name}: ${value}` : name;
  }

  function readWhole(text: string): void {
    const json = parseJSON(text);
    const { choices } = isRecord(json) && !isErrorFrame(json) ? json : {};
    const [choice] = Array.isArray(choices) ? choices : [];
    // a completion has a message; any other JSON with status 200 is an error of the gateway
    if (!isRecord(choice?.message ?? choice?.delta)) return end({ type: "refusal", body: text });
    onChunk(json as WireObject, "");
    end({ type: "done" });
  }

  function endWithError(text: string): void {
    const json = parseJSON(text);
    end(
      hasBegun() || !isRecord(json)
        ? { type: "error", fields: errorFieldsOf(json ?? text) ?? {} }
        : { type: "refusal", body: text },
    );
  }

  function end(how: StreamEnd): void {
    if (ended) return;
    ended = true;
    const isEmpty = !hasBegun() && (how.type === "done" || (how.type === "cut" && foreign !== undefined));
    onEnd(isEmpty ? { type: "refusal", body: foreign ?? "" } : how);
  }
}

const FIELDS = ["data", "event", "error", "id", "retry"];

/**
 * Returns false for an error, a page or an answer in place of a stream: no line of an event stream begins with a
 * bracket. Undefined where the bytes do not show it.
 */
function looksLikeStream(bytes: Uint8Array): boolean | undefined {
  // skips a byte order mark: all its bytes are beyond ASCII
  const first = bytes.find((byte) => byte > 0x20 && byte < 0x80);
  return first === undefined ? undefined : !"<{[".includes(String.fromCharCode(first));
}

function isDone(data: string): boolean {
  return data.trimEnd() === "[DONE]";
}

function isErrorFrame(frame: WireObject): boolean {
  return Boolean(frame.error) || (frame.choices === undefined && errorFieldsOf(frame)?.message !== undefined);
}
