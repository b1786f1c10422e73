import { createAPIError } from "../../transport/describe-response.js";
import {
  type ErrorFields,
  excerpt,
  isRecord,
  parseJSON,
  readErrorText,
} from "../../transport/error-response.js";
import { createEventParser, MAX_LENGTH, type ServerSentEvent } from "../../transport/event-stream.js";
import { toJSONText } from "../../types/json-text.js";
import { createFrameParser } from "./frame-json.js";
import { findReportedError, hasErrorName, isErrorEvent, parseErrorText } from "./reported-error.js";
import type { ResponseReader, WireObject } from "./response-reader.js";
import { createStrayLines } from "./stray-lines.js";
import { createCutError, createStreamError, type StreamMetadata } from "./stream-error.js";

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
 * Error codes of a proxy that has lost the rest: after a broken connection to the gateway, which would look like a normal
 * end over HTTP, and of a stored response.
 */
const CUT_CODES: readonly unknown[] = ["upstream_cut", "stream_interrupted"];
/** Largest length of a response. Engines limit a text to about as many characters. */
const MAX_BYTES = 2 ** 29;

/**
 * Creates the parser of one response of status 200: events, errors in every form, pages, and whole responses in place of
 * a stream.
 *
 * @param reader reads the chunks
 * @param scrub removes the API key from error texts
 * @param onContent runs for each chunk with content
 */
export function createStreamParser(
  reader: ResponseReader,
  scrub: (text: string) => string,
  onContent: () => void = () => {},
): StreamParser {
  const events = createEventParser({
    onEvent: readEvent,
    onUnknownField(name, value) {
      hasStray = true;
      stray.add(name, value, isLastLine);
    },
  });
  const frames = createFrameParser(parseJSON);
  const decoder = new TextDecoder();
  const stray = createStrayLines(failWithWords);
  /** True for an error, a page or a whole response instead of a stream; undefined while only spaces have arrived. */
  let isText: boolean | undefined;
  /** True while the last line is read, which may be truncated. */
  let isLastLine = false;
  /** The body so far, unless it is a stream. */
  let text = "";
  /** The first text that is not part of a response. */
  let foreign: string | undefined;
  /** Broken JSON that names an error without its message, which may follow. */
  let wordlessError: string | undefined;
  /** True once a line came that is not a field. Most streams have none, so they skip this work at each event. */
  let hasStray = false;

  let length = 0;

  const parser = {
    end: undefined as StreamEnd | undefined,
    isWhole: false,
    push(bytes: Uint8Array | undefined) {
      if (parser.end) return;
      try {
        length += bytes?.length ?? 0;
        if (length > MAX_BYTES) throw new RangeError(`it is longer than ${MAX_BYTES} bytes`);
        read(bytes);
      } catch (cause) {
        endBroken(`the stream can't be read: ${(cause as Error).message}`, cause);
      }
    },
    cut,
  };
  return parser;

  function read(bytes: Uint8Array | undefined): void {
    if (!bytes) return isText ? readWhole(text + decoder.decode()) : end();
    if (isText === undefined) {
      // skips a byte order mark, whose bytes are not ASCII. No line of a stream begins with a bracket
      const at = bytes.findIndex((byte) => byte > 0x20 && byte < 0x80);
      if (at !== -1) isText = "<{[".includes(String.fromCharCode(bytes[at] as number));
      if (isText) return readBody(bytes.subarray(at));
    }
    if (isText) readBody(bytes);
    else events.push(bytes);
  }

  function end(): void {
    isLastLine = true;
    const last = events.end();
    if (last && isWholeEvent(last)) readEvent(last);
    closeStray();
    if (wordlessError !== undefined) fail(wordlessError);
    cut();
  }

  function readBody(bytes: Uint8Array): void {
    const isInFirstLine = !text.includes("\n");
    text = (text + decoder.decode(bytes, { stream: true })).trimStart();
    if (text.length > MAX_LENGTH) throw new RangeError(`it is longer than ${MAX_LENGTH} characters`);
    if (!isInFirstLine) return;
    // an error in the first line: a stream may follow, and the connection may stay open
    const [line = "", rest] = text.split("\n", 2);
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

  function readBehind(rest: string): void {
    events.push(new TextEncoder().encode(rest));
  }

  function readEvent(given: ServerSentEvent): void {
    const { event, data } = given;
    closeStray();
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
      endBroken(`a frame of the stream is not a JSON object ${excerpt(readErrorText(data), 80)}`.trimEnd());
  }

  function failWithWords(body: string): void {
    if (wordlessError === undefined && parseErrorText(body).message === undefined) wordlessError = body;
    else fail(body);
  }

  function closeStray(): void {
    if (!hasStray) return;
    stray.close();
    foreign ??= stray.words;
  }

  /** Ends with an error: a refusal if no part of a response has arrived. */
  function fail(body: string): void {
    const json = parseJSON(body);
    const fields = readReportedFields(body, json);
    if (!reader.begun && isRecord(json)) refuse(body, fields);
    else failReported(fields);
  }

  function endWhole(): void {
    const { words } = stray;
    if (!reader.begun) refuse(foreign ?? "", undefined);
    // text replaced the rest
    else if (words && !reader.finished)
      failReported({ message: readErrorText(words) || "a text came in place of the rest" });
    else endAs("done");
  }

  function cut(): void {
    // they came in place of the rest
    const words = stray.words && excerpt(readErrorText(scrub(stray.words)), 500);
    if (!reader.begun && foreign !== undefined) refuse(foreign, undefined);
    else if (reader.finished) endAs("cut");
    else close("cut", (metadata) => createCutError(metadata, undefined, words));
  }

  /** Reads a chunk, unless the response has ended. */
  function readChunk(chunk: WireObject): void {
    if (!parser.end && reader.read(chunk)) onContent();
  }

  /** Ends a whole response. */
  function endAs(type: "done" | "cut"): void {
    if (reader.problem) return endBroken(`the response can't be read: ${reader.problem}`);
    close(type);
  }

  function endBroken(problem: string, cause?: unknown): void {
    close("malformed", (metadata) => createStreamError("malformed", scrub(problem), metadata, {}, cause));
  }

  function failReported({ message, type, code }: ReportedFields): void {
    const reason = CUT_CODES.includes(code) ? "truncated" : "server-error";
    close("error", (metadata) => createStreamError(reason, scrub(message), metadata, { type, code }));
  }

  /** Ends with a body that contains no response. */
  function refuse(body: string, fields: ErrorFields | undefined): void {
    close("refusal", ({ requestId }) => createAPIError({ status: 200 }, scrub(body), { fields, requestId }));
  }

  function refuseWhole(body: string): void {
    refuse(body, /^\s*[{[]/.test(body) ? parseErrorText(body.trim()) : undefined);
  }

  /** Ends with an error, or without one. Only the first end counts. */
  function close(type: StreamEnd["type"], toError?: StreamEnd["toError"]): void {
    if (parser.end) return;
    parser.end = { type, toError };
    if (toError) return;
    parser.isWhole = true;
    reader.finish();
  }
}

type ReportedFields = ErrorFields & { readonly message: string };

/** Reads the fields of an error, with a default message. */
function readReportedFields(body: string, json: unknown): ReportedFields {
  // choices beside an error may contain the model's text
  const rest = isRecord(json) && excerpt(toJSONText({ ...json, choices: undefined }) ?? "", 500);
  const fields = parseErrorText(body);
  const instead = `the gateway reported an error without a message${rest ? `: ${rest}` : ""}`;
  return { ...fields, message: fields.message ?? instead };
}

/**
 * Returns true for an event that is complete without its blank line, as `[DONE]` often is. Otherwise, the end of the
 * stream has truncated it.
 */
function isWholeEvent({ event, data }: ServerSentEvent): boolean {
  return isDone(data) || isRecord(parseJSON(data)) || (/error/i.test(event) && !/^[{[]/.test(data));
}

/** Returns true for the event that ends a stream. */
function isDone(data: string): boolean {
  return data.trimEnd() === "[DONE]";
}
