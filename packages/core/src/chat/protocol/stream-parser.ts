import type { LazyModule } from "../../base/lazy-module.js";
import { type ErrorFields, isRecord, parseJSON } from "../../transport/error-response.js";
import { createEventParser, type ServerSentEvent } from "../../transport/event-stream.js";
import { StreamError, type StreamFailure } from "../../types/errors.js";
import type { AssistantMessage } from "./delta.js";
import type { ResponseReader, WireObject } from "./response-reader.js";
import type { SpecialReader } from "./special-reader.js";

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
  readonly toError?: ((metadata: StreamMetadata) => Error | Promise<Error>) | undefined;
  /** Error fields of a refusal, if its body has any. */
  readonly fields?: ErrorFields | undefined;
}

/** Creates the error of a body with status 200 that contains no response. */
type CreateRefusal = (
  body: string,
  context: { readonly requestId: string | undefined; readonly fields: ErrorFields | undefined },
) => Error | Promise<Error>;

/** The code for what most streams do not have. */
export type SpecialCases = Pick<
  typeof import("./special-cases.js"),
  "createCallReader" | "createSpecialReader"
>;

/** Parses the bytes of a chat stream into chunks and classifies their end. It never throws. */
export interface StreamParser {
  /** End of the bytes; undefined while more may come. Only the first end counts. */
  readonly end: StreamEnd | undefined;
  /** True once the bytes of a whole response have ended. */
  readonly isWhole: boolean;
  /**
   * Reads the next bytes; without any, the bytes have ended. Returns a promise if the code for a special case must be
   * loaded first. It never rejects.
   */
  push(bytes: Uint8Array | undefined): Promise<void> | undefined;
  /** Ends the bytes after a broken connection. */
  cut(): void;
}

/** What the reader of special cases needs of the parser that hands over to it. */
export interface ParserContext {
  readonly reader: ResponseReader;
  /** Removes the API key from error texts. */
  readonly scrub: (text: string) => string;
  /** Creates the error of a body that contains no response. */
  readonly createRefusal: CreateRefusal;
  /** True once the response has ended. */
  readonly hasEnded: () => boolean;
  readonly readChunk: (chunk: WireObject) => void;
  /** Reads bytes of an event stream. */
  readonly pushEvents: (bytes: Uint8Array) => void;
  /** Ends a whole response. */
  readonly endAs: (type: "done" | "cut") => void;
  readonly endBroken: (problem: string, cause?: unknown) => void;
  /** Ends a response whose bytes stopped. `words` came in place of the rest, without the API key. */
  readonly endCut: (words?: string) => void;
  /** Ends with an error. Only the first end counts. */
  readonly close: (
    type: StreamEnd["type"],
    toError?: StreamEnd["toError"],
    fields?: ErrorFields | undefined,
  ) => void;
}

/**
 * Creates the parser of one response. `reader` reads the chunks. `onContent` runs for each chunk with content. `scrub`
 * removes the API key from error texts. `createRefusal` creates the error of a body that contains no response. `cases`
 * loads the code for tool calls, errors and text that is not an event. Until then, the parser reads plain chunks.
 */
export function createStreamParser(
  reader: ResponseReader,
  scrub: (text: string) => string,
  onContent: () => void,
  createRefusal: CreateRefusal,
  cases: LazyModule<SpecialCases>,
): StreamParser {
  const order = createOrder(cases, endBroken);
  const events = createEventParser({ onEvent, onUnknownField });
  let special: SpecialReader | undefined;
  /** True for an error, a page or a whole response instead of a stream; undefined while only spaces have arrived. */
  let isText: boolean | undefined;
  /** The bytes up to the first visible character. */
  const beginning: Uint8Array[] = [];
  /** True while the parser reads the last line, which may be truncated. */
  let isLastLine = false;

  const parser = {
    end: undefined as StreamEnd | undefined,
    isWhole: false,
    push(bytes: Uint8Array | undefined) {
      order.attempt(() => (bytes ? read(bytes) : end()));
      return order.loading;
    },
    cut: () => (special ? special.cut() : endCut()),
  };
  return parser;

  function read(bytes: Uint8Array): void {
    if (parser.end) return;
    if (isText === undefined) {
      beginning.push(bytes);
      // skips a byte order mark, whose bytes are not ASCII. No line of a stream begins with a bracket
      const first = bytes.find((byte) => byte > 0x20 && byte < 0x80);
      if (first === undefined) return events.push(bytes);
      isText = "<{[".includes(String.fromCharCode(first));
      const read = beginning.splice(0);
      if (isText) return read.forEach(readBody);
    }
    if (isText) readBody(bytes);
    else events.push(bytes);
  }

  function readBody(bytes: Uint8Array): void {
    order.run(() => getSpecial().readBody(bytes));
  }

  function onEvent(event: ServerSentEvent): void {
    // nearly all events, without a closure for each
    if (special && !order.loading) return special.readEvent(event);
    order.run(
      () => (cases.loaded ? getSpecial().readEvent(event) : readPlain(event)),
      // a stream without a response is classified by its text
      () => isPlain(event) && (reader.begun || !isDone(event.data)),
    );
  }

  function onUnknownField(name: string, value: string): void {
    // the name of a field that the end has truncated
    if (isLastLine && value === "" && FIELDS.some((field) => field.startsWith(name))) return;
    order.run(() => getSpecial().readLine(name, value, isLastLine));
  }

  function readPlain({ data }: ServerSentEvent): void {
    if (parser.end || data === "") return;
    if (isDone(data)) endAs("done");
    else readChunk(parseJSON(data) as WireObject);
  }

  function end(): void {
    if (isText) return order.run(() => getSpecial().endBody());
    isLastLine = true;
    const last = events.end();
    // an event without its blank line counts if it is complete, as `[DONE]` often is
    if (last && isWholeEvent(last)) onEvent(last);
    order.run(
      () => (special ? special.end() : endCut()),
      () => true,
    );
  }

  /** Returns the reader of all that follows the first special case. */
  function getSpecial(): SpecialReader {
    special ??= (cases.loaded as SpecialCases).createSpecialReader({
      ...{ reader, scrub, createRefusal, readChunk, endAs, endBroken, endCut, close },
      hasEnded: () => parser.end !== undefined,
      pushEvents: events.push,
    });
    return special;
  }

  function readChunk(chunk: WireObject): void {
    if (reader.read(chunk)) onContent();
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

  function close(type: StreamEnd["type"], toError?: StreamEnd["toError"], fields?: ErrorFields): void {
    if (parser.end) return;
    parser.end = { type, toError, fields };
    if (toError) return;
    parser.isWhole = true;
    reader.finish();
  }
}

/**
 * Keeps the order of a stream's parts. A part that needs the code for special cases waits until it is loaded, and all
 * parts after it wait, too. `fail` gets the problem of a part that can't be read.
 */
function createOrder(cases: LazyModule<SpecialCases>, fail: (problem: string, cause: unknown) => void) {
  let held: (() => void)[] | undefined;
  const order = {
    /** Resolves when no part waits any more; undefined if none waits. */
    loading: undefined as Promise<void> | undefined,
    attempt(act: () => void): void {
      try {
        act();
      } catch (cause) {
        fail(`the stream can't be read: ${(cause as Error).message}`, cause);
      }
    },
    /** Reads a part: at once if it is plain or the code is loaded. */
    run(act: () => void, isPlain = () => false): void {
      if (held) held.push(act);
      else if (cases.loaded || isPlain()) act();
      else {
        held = [act];
        order.loading = cases.load().then(runHeld, failLoading);
      }
    },
  };
  return order;

  function runHeld(): void {
    const acts = release();
    order.attempt(() => {
      for (const act of acts) act();
    });
  }

  function failLoading(cause: unknown): void {
    release();
    fail("the code that reads this part of the response could not be loaded", cause);
  }

  function release(): readonly (() => void)[] {
    const acts = held ?? [];
    held = order.loading = undefined;
    return acts;
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

/** The fields of an event. */
const FIELDS = ["data", "event", "id", "retry"];

/** Returns true for a chunk of a response that has neither an error nor tool calls, and for `[DONE]`. */
function isPlain({ event, data }: ServerSentEvent): boolean {
  if (event !== "message" || /error|_call/i.test(data)) return false;
  const { choices, usage } = (parseJSON(data) ?? {}) as WireObject;
  return Array.isArray(choices) ? choices.length > 0 || isRecord(usage) : data === "" || isDone(data);
}

/** Returns true for the event that ends a stream. */
export function isDone(data: string): boolean {
  return data.trimEnd() === "[DONE]";
}

function isWholeEvent({ event, data }: ServerSentEvent): boolean {
  return isDone(data) || isRecord(parseJSON(data)) || (/error/i.test(event) && !/^[{[]/.test(data));
}
