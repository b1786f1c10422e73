import {
  type ErrorFields,
  excerpt,
  isRecord,
  parseJSON,
  readErrorText,
} from "../../transport/error-response.js";
import { createEventParser, MAX_LENGTH, type ServerSentEvent } from "../../transport/event-stream.js";
import { StreamError, type StreamFailure, toJSONText } from "../../vocabulary/errors.js";
import type { AssistantMessage } from "./delta.js";
import { createFrameParser } from "./frame-json.js";
import { findReportedError, hasErrorName, isErrorEvent, parseErrorText } from "./reported-error.js";
import type { ResponseReader, WireObject } from "./response-reader.js";
import { createStrayLines } from "./stray-lines.js";

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
  readonly toError?: ((facts: StreamMetadata) => Error | Promise<Error>) | undefined;
  /** Error fields of a refusal, if its body has any. */
  readonly fields?: ErrorFields | undefined;
}

/** Creates the error of a body with status 200 that contains no response. */
type CreateRefusal = (
  body: string,
  context: { readonly requestId: string | undefined; readonly fields: ErrorFields | undefined },
) => Error | Promise<Error>;

/** Parses the bytes of a chat stream into chunks and classifies their end. It never throws. */
export interface StreamParser {
  /** End of the bytes; undefined while more may come. Only the first end counts. */
  readonly end: StreamEnd | undefined;
  /** True once the bytes of a whole response have ended. */
  readonly isWhole: boolean;
  /** Reads the next bytes; without any, the bytes have ended. */
  push(bytes: Uint8Array | undefined): void;
  /** Ends the bytes after a broken connection. */
  cut(): void;
}

/**
 * Creates the parser of one response. `answer` reads the chunks. `onContent` runs for each chunk with content. `scrub`
 * removes the API key from error texts. `createRefusal` creates the error of a body that contains no response.
 */
export function createStreamParser(
  answer: ResponseReader,
  scrub: (text: string) => string,
  onContent: () => void,
  createRefusal: CreateRefusal,
): StreamParser {
  const frames = createFrameParser(parseJSON);
  const decoder = new TextDecoder();
  const stray = createStrayLines(failWithWords);
  const events = createEventParser({
    onEvent: readEvent,
    onUnknownField(name, value) {
      hasStray = true;
      stray.add(name, value, isLastLine);
    },
  });
  /** True for an error, a page or a whole response instead of a stream; undefined while only spaces have arrived. */
  let isText: boolean | undefined;
  /** The body so far, unless it is a stream. */
  let text = "";
  /** The first text that is not part of a response. */
  let foreign: string | undefined;
  /** True once a line came that is not a field. Most streams have none, so they skip this work at each event. */
  let hasStray = false;
  /** Broken JSON that names an error without its message, which may follow. */
  let wordlessError: string | undefined;
  /** True while the parser reads the last line, which may be truncated. */
  let isLastLine = false;

  const parser = {
    end: undefined as StreamEnd | undefined,
    isWhole: false,
    push(bytes: Uint8Array | undefined) {
      try {
        if (bytes) read(bytes);
        else if (isText) readWhole(text + decoder.decode());
        else endEvents();
      } catch (cause) {
        endBroken(`the stream can't be read: ${(cause as Error).message}`, cause);
      }
    },
    cut,
  };
  return parser;

  function read(bytes: Uint8Array): void {
    if (isText === undefined) {
      // skips a byte order mark, whose bytes are not ASCII. No line of a stream begins with a bracket
      const first = bytes.find((byte) => byte > 0x20 && byte < 0x80);
      if (first !== undefined) isText = "<{[".includes(String.fromCharCode(first));
    }
    if (!isText && !parser.end) events.push(bytes);
    if (isText === false || parser.end) return;
    const isInFirstLine = !text.trim().includes("\n");
    text += decoder.decode(bytes, { stream: true });
    if (text.length > MAX_LENGTH) throw new RangeError(`it is longer than ${MAX_LENGTH} characters`);
    if (!isInFirstLine) return;
    // an error in the first line: a stream may follow, and the connection may stay open
    const [line = "", rest] = text.trimStart().split("\n", 2);
    if (rest !== undefined && findReportedError(parseJSON(line))) refuseWhole(line);
  }

  /** Reads a body that is not a stream: a whole response, an error, or a page. */
  function readWhole(whole: string): void {
    const behind = whole.search(/\n(?:data|event):/);
    const body = behind === -1 ? whole : whole.slice(0, behind);
    const json = parseJSON(whole) ?? parseJSON(body);
    // the message of a truncated error may follow it
    if (json === undefined && hasErrorName(body)) readBehind(`${whole}\n\n`);
    const { choices } = isRecord(json) ? json : {};
    const [choice] = Array.isArray(choices) ? choices : [];
    // a completion has a message. Any other JSON with status 200 is an error of the gateway
    if (!isRecord(choice?.message ?? choice?.delta)) return refuseWhole(body);
    readChunk(json as WireObject);
    if (findReportedError(json)) return fail(body);
    readBehind(whole.slice(body.length));
    endWhole();
  }

  /** Reads the events after a body. */
  function readBehind(rest: string): void {
    events.push(new TextEncoder().encode(rest));
  }

  function endEvents(): void {
    isLastLine = true;
    const last = events.end();
    if (parser.end) return;
    // an event without its blank line counts if it is complete, as `[DONE]` often is
    if (last && isWholeEvent(last)) readEvent(last);
    closeStray();
    if (wordlessError !== undefined) fail(wordlessError);
    cut();
  }

  function readEvent(given: ServerSentEvent): void {
    const { event, data } = given;
    closeStray();
    if (parser.end) return;
    if (isDone(data)) return wordlessError === undefined ? endWhole() : fail(wordlessError);
    const chunk = frames.parse(data);
    // a frame that matches the template carries no error, and searching it costs more than parsing it
    const hasFailed = !(frames.isAlike && event === "message") && isErrorEvent(given, chunk);
    if ((data === "" || wordlessError !== undefined) && !hasFailed) return;
    if (isRecord(chunk)) {
      // an error frame may carry the last content
      if (!hasFailed || chunk.choices) readChunk(chunk);
      if (chunk.choices === undefined) foreign ??= data;
    }
    if (hasFailed) fail(data);
    // an event with another name is not part of the chat and may carry anything
    else if (!isRecord(chunk) && event === "message")
      endBroken(`a frame of the stream is no JSON object ${excerpt(readErrorText(data), 80)}`.trimEnd());
  }

  function readChunk(chunk: WireObject): void {
    if (answer.read(chunk)) onContent();
  }

  function failWithWords(said: string): void {
    if (wordlessError === undefined && parseErrorText(said).message === undefined) wordlessError = said;
    else fail(said);
  }

  function closeStray(): void {
    if (!hasStray) return;
    stray.close();
    foreign ??= stray.words;
  }

  /** Ends with an error: a refusal if no part of a response has arrived. */
  function fail(said: string): void {
    const json = parseJSON(said);
    const fields = readReportedFields(said, json);
    if (!answer.begun && isRecord(json)) refuse(said, fields);
    else failReported(fields);
  }

  // only the first of the following ends counts

  function endWhole(): void {
    const { words } = stray;
    if (!answer.begun) refuse(foreign ?? "", undefined);
    // text replaced the rest
    else if (words && !answer.finished)
      failReported({ message: readErrorText(words) || "a text came in place of the rest" });
    else endAs("done");
  }

  function cut(): void {
    const { words } = stray;
    if (!answer.begun && foreign !== undefined) refuse(foreign, undefined);
    else if (answer.finished) endAs("cut");
    else close("cut", (facts) => createCutError(facts, undefined, words && scrub(words)));
  }

  /** Ends a whole response. */
  function endAs(type: "done" | "cut"): void {
    const { problem } = answer;
    if (problem) return endBroken(`the response can't be read: ${problem}`);
    close(type);
  }

  function endBroken(problem: string, cause?: unknown): void {
    close("malformed", (facts) => createStreamError("malformed", scrub(problem), facts, {}, cause));
  }

  function failReported({ message, type, code }: ErrorFields & { readonly message: string }): void {
    const reason = CUT_CODES.includes(code) ? "truncated" : "server-error";
    close("error", (facts) => createStreamError(reason, scrub(message), facts, { type, code }));
  }

  /** Ends with a body that contains no response. */
  function refuse(body: string, fields: ErrorFields | undefined): void {
    const clean = scrub(body);
    close("refusal", ({ requestId }) => createRefusal(clean, { requestId, fields }), fields);
  }

  /** Ends with a body that is not a stream. */
  function refuseWhole(body: string): void {
    const isJSON = /^\s*[{[]/.test(body);
    refuse(body, isJSON ? parseErrorText(body.trim()) : undefined);
  }

  function close(type: StreamEnd["type"], toError?: StreamEnd["toError"], fields?: ErrorFields): void {
    if (parser.end) return;
    parser.end = { type, toError, fields };
    if (toError) return;
    parser.isWhole = true;
    answer.finish();
  }
}

/**
 * Error codes of a proxy that has lost the rest: after a broken connection to the gateway, which would look like a normal
 * end over HTTP, and of a stored response.
 */
const CUT_CODES: readonly unknown[] = ["upstream_cut", "stream_interrupted"];

/** Creates the error of a stream whose connection broke. `words`: a text that came instead of the rest. */
export function createCutError(metadata: StreamMetadata, cause?: unknown, words?: string): Error {
  const said = words && excerpt(readErrorText(words), 500);
  const text = `the stream broke off before its end${said ? ` (${said})` : ""}; \`partial\` has the message so far`;
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

/** Reads the fields of an error, with a default message. */
function readReportedFields(said: string, json: unknown): ErrorFields & { readonly message: string } {
  // choices beside an error may contain the model's text
  const rest = isRecord(json) && excerpt(toJSONText({ ...json, choices: undefined }) ?? "", 500);
  const fields = parseErrorText(said);
  const instead = `the gateway reported an error without a message${rest ? `: ${rest}` : ""}`;
  return { ...fields, message: fields.message ?? instead };
}

function isDone(data: string): boolean {
  return data.trimEnd() === "[DONE]";
}

function isWholeEvent({ event, data }: ServerSentEvent): boolean {
  return isDone(data) || isRecord(parseJSON(data)) || (/error/i.test(event) && !/^[{[]/.test(data));
}
