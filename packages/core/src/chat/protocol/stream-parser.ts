import type { LazyModule } from "../../base/lazy-module.js";
import { isRecord, parseJSON } from "../../transport/error-response.js";
import { createEventParser, type EventParser, type ServerSentEvent } from "../../transport/event-stream.js";
import { StreamError, type StreamFailure } from "../../types/errors.js";
import type { BodyParser } from "./body-parser.js";
import type { AssistantMessage } from "./delta.js";
import type { ResponseReader, WireObject } from "./response-reader.js";

/** Metadata of a stream that its errors carry. */
export interface StreamMetadata {
  /** The message so far. */
  readonly partial: AssistantMessage;
  readonly requestId: string | undefined;
}

/** End of a stream, classified by the content before it. */
export interface StreamEnd {
  /**
   * - `done`: `[DONE]`, or a whole JSON response in place of a stream
   * - `cut`: the bytes ended without a sign of the response's end
   * - `error`: the stream carried an error: in a frame, as an `error` event, or as a line
   * - `refusal`: no part of a response came, with any HTTP status. The body was an error, a page, text, or other JSON
   * - `malformed`: a part of the stream could not be read
   */
  readonly type: "done" | "cut" | "error" | "refusal" | "malformed";
  /** Creates the error of the stream; undefined for a whole response. */
  readonly toError?: ((metadata: StreamMetadata) => Error) | undefined;
}

/** The code that a page loads beside its first request. */
export type StreamCode = Pick<typeof import("./stream-code.js"), "createCallReader" | "createBodyParser">;

/** Parses the bytes of a chat stream into chunks and classifies their end. It never throws. */
export interface StreamParser {
  /** End of the bytes; undefined while more may come. Only the first end counts. */
  readonly end: StreamEnd | undefined;
  /** True once the bytes of a whole response have ended. */
  readonly isWhole: boolean;
  /**
   * Reads the next bytes; without any, the bytes have ended. Returns a promise until the code is loaded. It never
   * rejects.
   */
  push(bytes: Uint8Array | undefined): Promise<void> | undefined;
  /** Ends the bytes after a broken connection. */
  cut(): void;
}

/** What the parser of a body needs of the parser of the stream. */
export interface ParserContext {
  readonly reader: ResponseReader;
  /** The events of the stream. They come to `readEvent` and `readLine`. */
  readonly events: EventParser;
  /** Removes the API key from error texts. */
  readonly scrub: (text: string) => string;
  /** Reads a chunk, unless the response has ended. */
  readonly readChunk: (chunk: WireObject) => void;
  /** Ends a whole response. */
  readonly endAs: (type: "done" | "cut") => void;
  readonly endBroken: (problem: string) => void;
  /** Ends a response whose bytes stopped. `words` came in place of the rest, without the API key. */
  readonly endCut: (words?: string) => void;
  /** Ends with an error. Only the first end counts. */
  readonly close: (type: StreamEnd["type"], toError?: StreamEnd["toError"]) => void;
}

/** Largest length of a response. Engines limit a text to about as many characters. */
const MAX_BYTES = 2 ** 29;

/**
 * Creates the parser of one response. `reader` reads the chunks. `onContent` runs for each chunk with content. `scrub`
 * removes the API key from error texts. `code` has the parser of a body. If it can't be loaded, for example because the
 * site was deployed again, only plain chunks are read: no tool calls, no errors, no text that is not an event.
 */
export function createStreamParser(
  reader: ResponseReader,
  scrub: (text: string) => string,
  onContent: () => void,
  code: LazyModule<StreamCode>,
): StreamParser {
  const events = createEventParser({
    onEvent(event) {
      if (body) body.readEvent(event);
      else readPlain(event);
    },
    onUnknownField(name, value) {
      if (body) body.readLine(name, value);
      // at the end, the name of a field may be truncated
      else if (value || !isLastLine) endUnloaded();
    },
  });
  let body: BodyParser | undefined;
  /** True if the code could not be loaded. */
  let isLost = false;
  let isLastLine = false;
  let length = 0;

  const parser = {
    end: undefined as StreamEnd | undefined,
    isWhole: false,
    push(bytes: Uint8Array | undefined) {
      if (code.loaded || isLost) return read(bytes);
      return code.load().then(
        () => read(bytes),
        () => {
          isLost = true;
          read(bytes);
        },
      );
    },
    cut: () => (body ? body.cut() : endCut()),
  };
  return parser;

  function read(bytes: Uint8Array | undefined): undefined {
    if (parser.end) return;
    if (!isLost) body ??= createBody(code.loaded as StreamCode);
    try {
      length += bytes?.length ?? 0;
      if (length > MAX_BYTES) throw new RangeError(`it is longer than ${MAX_BYTES} bytes`);
      if (body) body.read(bytes);
      else if (bytes) events.push(bytes);
      else {
        isLastLine = true;
        const last = events.end();
        if (last && isWholeEvent(last)) readPlain(last);
        endCut();
      }
    } catch (cause) {
      endBroken(`the stream can't be read: ${(cause as Error).message}`, cause);
    }
  }

  function createBody({ createBodyParser }: StreamCode): BodyParser {
    const functions = { readChunk, endAs, endBroken, endCut, close };
    return createBodyParser({ reader, events, scrub, ...functions });
  }

  /** Reads an event without the parser of a body. */
  function readPlain({ event, data }: ServerSentEvent): void {
    if (data === "") return;
    const chunk = parseJSON(data) as WireObject | undefined;
    if (reader.begun && isDone(data)) endAs("done");
    else if (event === "message" && chunk && isPlain(chunk) && !/error|_call/i.test(data)) readChunk(chunk);
    else endUnloaded();
  }

  function endUnloaded(): void {
    endBroken("the code that reads this part of the response could not be loaded");
  }

  function readChunk(chunk: WireObject): void {
    if (!parser.end && reader.read(chunk)) onContent();
  }

  function endCut(words?: string): void {
    if (reader.finished) endAs("cut");
    else close("cut", (metadata) => createCutError(metadata, undefined, words));
  }

  function endAs(type: "done" | "cut"): void {
    const { problem } = reader;
    if (problem) return endBroken(`the response can't be read: ${problem}`);
    close(type);
  }

  function endBroken(problem: string, cause?: unknown): void {
    close("malformed", (metadata) => createStreamError("malformed", scrub(problem), metadata, {}, cause));
  }

  function close(type: StreamEnd["type"], toError?: StreamEnd["toError"]): void {
    if (parser.end) return;
    parser.end = { type, toError };
    if (toError) return;
    parser.isWhole = true;
    reader.finish();
  }
}

/** Creates the error of a stream whose connection broke. `words` came instead of the rest. */
export function createCutError(metadata: StreamMetadata, cause?: unknown, words?: string): Error {
  const text = `the stream broke off before its end${words ? ` (${words})` : ""}; \`partial\` has the message so far`;
  return createStreamError("truncated", text, metadata, {}, cause);
}

/** Creates the error of a stream. The API key is already removed from its text. */
export function createStreamError(
  reason: StreamFailure,
  text: string,
  { partial, requestId }: StreamMetadata,
  fields: { readonly type?: string | undefined; readonly code?: string | undefined } = {},
  cause?: unknown,
): StreamError<AssistantMessage> {
  return new StreamError(text, { reason, partial, ...fields }, { cause, requestId });
}

/** Returns true for a chunk of a response. Other JSON may be an error. */
function isPlain({ choices, usage }: WireObject): boolean {
  return Array.isArray(choices) && (choices.length > 0 || isRecord(usage));
}

/**
 * Returns true for an event that is complete without its blank line, as `[DONE]` often is. Otherwise, the end of the
 * stream has truncated it.
 */
export function isWholeEvent({ event, data }: ServerSentEvent): boolean {
  return isDone(data) || isRecord(parseJSON(data)) || (/error/i.test(event) && !/^[{[]/.test(data));
}

/** Returns true for the event that ends a stream. */
export function isDone(data: string): boolean {
  return data.trimEnd() === "[DONE]";
}
