import { type ErrorFields, errorFieldsOf, isRecord, parseJSON } from "../../transport/error-response.js";
import { createEventParser, MAX_LENGTH, type ServerSentEvent } from "../../transport/event-stream.js";
import type { WireObject } from "./field-reader.js";

/** End of the bytes of a stream, by their content. */
export type StreamEnd =
  /** `[DONE]`, or a whole JSON answer in the place of a stream. */
  | { readonly type: "done" }
  /** The bytes are over, and none of them said that the answer is. */
  | { readonly type: "cut" }
  /** An error was sent within the stream: in a frame, as an `error` event, or as a line. */
  | { readonly type: "error"; readonly fields: ErrorFields }
  /** No part of an answer came, whatever the HTTP status says: an error, a page, a text, or other JSON in its place. */
  | { readonly type: "refusal"; readonly body: string }
  /** A part of the stream can't be read. */
  | { readonly type: "malformed"; readonly problem: string; readonly cause?: unknown };

/** The consumer of a chunk parser; after `onEnd` nothing more comes. */
export interface ChunkHandlers {
  /** `eventId` is the last `id` of the stream at this chunk; empty where it has none. */
  onChunk(chunk: WireObject, eventId: string): void;
  /** Tells whether a part of an answer has come. */
  hasBegun(): boolean;
  onEnd(end: StreamEnd): void;
}

/** Turns a chat stream's bytes into chunks, and says how they ended. It never throws. */
export function createChunkParser({ onChunk, hasBegun, onEnd }: ChunkHandlers) {
  const handlers = { onEvent: readEvent, onUnknownField: readStrayLine };
  let events = createEventParser(handlers);
  const decoder = new TextDecoder();
  let isStream: boolean | undefined;
  let whole = "";
  let ended = false;
  /** The first text that is no part of an answer. */
  let foreign: string | undefined;

  return {
    /** Reads the next bytes; without any, the bytes are over. */
    push(bytes?: Uint8Array): void {
      try {
        if (bytes) readBytes(bytes);
        else readEnd();
      } catch (cause) {
        end({ type: "malformed", problem: `the stream can't be read: ${(cause as Error).message}`, cause });
      }
    },
    /** Reads another connection's bytes from now on, from the start of an event: the rest of the last one is dropped. */
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
    // an event without its blank line is whole if its JSON is; `[DONE]` often comes so
    if (unfinished && (isDone(unfinished.data) || isRecord(parseJSON(unfinished.data))))
      readEvent(unfinished);
    end({ type: "cut" });
  }

  function readEvent({ event, data, lastEventId }: ServerSentEvent): void {
    if (ended || data === "") return;
    if (event === "error") return endWithError(data);
    if (isDone(data)) return end({ type: "done" });
    const chunk = parseJSON(data);
    if (!isRecord(chunk)) {
      // an event of another name is none of the chat's, and may carry anything
      const problem = chunk === undefined ? "no JSON" : "no JSON object";
      if (event === "message")
        end({ type: "malformed", problem: `a frame of the stream is ${problem}: ${data.slice(0, 80)}` });
    } else if (isErrorFrame(chunk)) endWithError(data);
    else {
      onChunk(chunk, lastEventId);
      if (chunk.choices === undefined) foreign ??= data;
    }
  }

  /** Some gateways send an error as a bare line, `error: {…}`; one that was cut is a cut, not a message. */
  function readStrayLine(name: string, value: string): void {
    const isCut = value.startsWith("{") && parseJSON(value) === undefined;
    if (name === "error" && !isCut) endWithError(value);
    // what may be the start of a known field was cut; anything else is text in the place of a stream
    else if (!FIELDS.some((field) => field.startsWith(name.trim())))
      foreign ??= value ? `${name}: ${value}` : name;
  }

  function readWhole(text: string): void {
    const json = parseJSON(text);
    const { choices } = isRecord(json) && !isErrorFrame(json) ? json : {};
    const [choice] = Array.isArray(choices) ? choices : [];
    // a completion has a message: anything else that came with status 200 is the gateway's way to refuse
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

/** No line of an event stream starts with a bracket: gateways send errors, pages and answers in its place. */
function looksLikeStream(bytes: Uint8Array): boolean | undefined {
  // of a mark of the encoding, which no other ASCII comes before, all bytes are beyond it
  const first = bytes.find((byte) => byte > 0x20 && byte < 0x80);
  return first === undefined ? undefined : !"<{[".includes(String.fromCharCode(first));
}

function isDone(data: string): boolean {
  return data.trimEnd() === "[DONE]";
}

function isErrorFrame(frame: WireObject): boolean {
  return Boolean(frame.error) || (frame.choices === undefined && errorFieldsOf(frame)?.message !== undefined);
}
