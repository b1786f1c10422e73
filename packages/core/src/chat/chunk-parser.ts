import { type ErrorFields, errorFieldsOf, isRecord, parseJSON } from "../error-body.js";
import { createEventParser, type ServerSentEvent } from "../sse.js";
import type { Chunk } from "./chunk.js";

/** How a stream's bytes ended, told apart by what the bytes said. */
export type StreamEnd =
  /** `[DONE]`, or a whole JSON answer in the place of a stream. */
  | { readonly type: "done" }
  /** The bytes are over, and none of them said that the answer is. */
  | { readonly type: "cut" }
  /** An error was sent after the first chunk: in a frame, as an `error` event, or as a line. */
  | { readonly type: "error"; readonly fields: ErrorFields }
  /** An error before any chunk, whatever the HTTP status says; or a page or a text in the place of a stream. */
  | { readonly type: "refusal"; readonly body: string }
  /** A frame that is no JSON. */
  | { readonly type: "malformed"; readonly frame: string };

/** Where a chunk parser puts what it reads; after `onEnd` nothing more comes. */
export interface ChunkHandlers {
  /** `eventId`: the last `id` of the stream at this chunk; empty where it has none. */
  onChunk(chunk: Chunk, eventId: string): void;
  onEnd(end: StreamEnd): void;
}

/** Turns a chat stream's bytes into chunks, and says how they ended. */
export function createChunkParser({ onChunk, onEnd }: ChunkHandlers) {
  const handlers = { onEvent: readEvent, onUnknownField: readErrorLine };
  let events = createEventParser(handlers);
  const decoder = new TextDecoder();
  let isStream: boolean | undefined;
  let whole = "";
  let begun = false;
  let ended = false;

  return {
    push(bytes: Uint8Array): void {
      if (isStream === undefined) isStream = looksLikeStream(bytes);
      if (isStream === false) whole += decoder.decode(bytes, { stream: true });
      else if (!ended) events.push(bytes);
    },
    /** The bytes are over. */
    end(): void {
      if (isStream === false) return readWhole(whole + decoder.decode());
      const unfinished = events.end();
      if (ended) return;
      // an event without its blank line is whole if its JSON is; `[DONE]` often comes so
      if (unfinished && (isDone(unfinished.data) || isRecord(parseJSON(unfinished.data))))
        readEvent(unfinished);
      end({ type: "cut" });
    },
    /** What comes next is another connection's, from the start of an event on: what the last one left is dropped. */
    restart(): void {
      events = createEventParser(handlers);
      ended = false;
    },
  };

  function readEvent({ event, data, lastEventId }: ServerSentEvent): void {
    if (ended || data === "") return;
    if (event === "error") return endWithError(data);
    if (isDone(data)) return end({ type: "done" });
    const chunk = parseJSON(data);
    if (!isRecord(chunk)) {
      // an event of another name is none of the chat's, and may carry anything
      if (event === "message") end({ type: "malformed", frame: data });
    } else if (isErrorFrame(chunk)) endWithError(data);
    else {
      begun = true;
      onChunk(chunk, lastEventId);
    }
  }

  /** Some gateways send an error as a bare line, `error: {…}`; one that was cut is a cut, not a message. */
  function readErrorLine(name: string, value: string): void {
    const isCut = value.startsWith("{") && parseJSON(value) === undefined;
    if (name === "error" && !isCut) endWithError(value);
  }

  function readWhole(text: string): void {
    const json = parseJSON(text);
    if (!isRecord(json) || isErrorFrame(json)) return endWithError(text);
    onChunk(json, "");
    end({ type: "done" });
  }

  function endWithError(text: string): void {
    const fields = errorFieldsOf(parseJSON(text) ?? text) ?? {};
    end(begun ? { type: "error", fields } : { type: "refusal", body: text });
  }

  function end(how: StreamEnd): void {
    if (ended) return;
    ended = true;
    onEnd(how);
  }
}

/** No line of an event stream starts with a bracket: gateways send errors, pages and answers in its place. */
function looksLikeStream(bytes: Uint8Array): boolean | undefined {
  const start = bytes[0] === 0xef ? 3 : 0;
  const first = bytes.subarray(start).find((byte) => byte > 0x20);
  return first === undefined ? undefined : !"<{[".includes(String.fromCharCode(first));
}

function isDone(data: string): boolean {
  return data.trimEnd() === "[DONE]";
}

function isErrorFrame(frame: Record<string, unknown>): boolean {
  return Boolean(frame.error) || (frame.choices === undefined && typeof frame.message === "string");
}
