import { type ErrorFields, excerpt, isRecord, parseJSON, wordsOf } from "../../transport/error-response.js";
import { createEventParser, MAX_LENGTH, type ServerSentEvent } from "../../transport/event-stream.js";
import { jsonOf } from "../../vocabulary/errors.js";
import type { AnswerReader, WireObject } from "./answer-reader.js";
import { createFrameParser } from "./frame-json.js";
import { errorFieldsOfText, isErrorEvent, namesError } from "./reported-error.js";
import { createStrayLines } from "./stray-lines.js";

/** End of the bytes of a stream, by the content before it. */
export type StreamEnd =
  /** `[DONE]`, or a whole JSON answer in place of a stream. */
  | { readonly type: "done" }
  /** The bytes ended without a sign that the answer has ended. `words`: a text that came in place of the rest. */
  | { readonly type: "cut"; readonly words?: string | undefined }
  /** An error came in the stream: in a frame, as an `error` event, or as a line. */
  | { readonly type: "error"; readonly fields: ErrorFields & { readonly message: string } }
  /** No part of an answer came, with any HTTP status. The body was an error, a page, a text, or other JSON. */
  | { readonly type: "refusal"; readonly body: string; readonly fields?: ErrorFields | undefined }
  /** A part of the stream could not be read. */
  | { readonly type: "malformed"; readonly problem: string; readonly cause?: unknown };

/** Turns the bytes of a chat stream into chunks, and decides how they ended. It never throws. */
export interface StreamParser {
  /** End of the bytes; undefined while more may come. Only the first end counts. */
  readonly end: StreamEnd | undefined;
  /** True once the bytes have ended as those of a whole answer do. */
  readonly isWhole: boolean;
  /** Reads the next bytes; without any, the bytes have ended. */
  push(bytes: Uint8Array | undefined): void;
  /** Ends the bytes after a broken connection. */
  cut(): void;
}

/** JSON outside of an event stream. */
const noEvent = { event: "", data: "" };

/** Creates the parser of one response. `answer` reads the chunks; `onContent` is called for each chunk with content. */
export function createStreamParser(answer: AnswerReader, onContent: () => void): StreamParser {
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
  /** True for an error, a page or an answer in place of a stream; undefined while nothing but spaces has come. */
  let isText: boolean | undefined;
  /** The body so far, unless it is a stream. */
  let text = "";
  /** The first text that belongs to no answer. */
  let foreign: string | undefined;
  /** True once a line came that is not a field. Few streams have one: the others spend nothing on it at each event. */
  let hasStray = false;
  /** Broken JSON that names an error without its words. They may follow. */
  let unsaid: string | undefined;
  /** True while the last line is read, which the end of the bytes may have cut. */
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
        close({ type: "malformed", problem: `the stream can't be read: ${(cause as Error).message}`, cause });
      }
    },
    cut: () => close({ type: "cut" }),
  };
  return parser;

  function read(bytes: Uint8Array): void {
    if (isText === undefined) {
      // skips a byte order mark: all its bytes are beyond ASCII. No line of a stream begins with a bracket
      const first = bytes.find((byte) => byte > 0x20 && byte < 0x80);
      if (first !== undefined) isText = "<{[".includes(String.fromCharCode(first));
    }
    if (!isText && !parser.end) events.push(bytes);
    if (isText === false || parser.end) return;
    const isInFirstLine = !text.trim().includes("\n");
    text += decoder.decode(bytes, { stream: true });
    if (text.length > MAX_LENGTH) throw new RangeError(`it is longer than ${MAX_LENGTH} characters`);
    if (!isInFirstLine) return;
    // an error in the first line: a stream may follow it, and the connection may stay open
    const [line = "", rest] = text.trimStart().split("\n", 2);
    if (rest !== undefined && isErrorEvent(noEvent, parseJSON(line))) refuse(line);
  }

  /** Reads a body that is not a stream: a whole answer, an error, or a page. */
  function readWhole(whole: string): void {
    const behind = whole.search(/\n(?:data|event):/);
    const body = behind === -1 ? whole : whole.slice(0, behind);
    const json = parseJSON(whole) ?? parseJSON(body);
    // the words of an error that broke off may follow it
    if (json === undefined && namesError(body)) readBehind(`${whole}\n\n`);
    const { choices } = isRecord(json) ? json : {};
    const [choice] = Array.isArray(choices) ? choices : [];
    // a completion has a message; any other JSON with status 200 is an error of the gateway
    if (!isRecord(choice?.message ?? choice?.delta)) return refuse(body);
    readChunk(json as WireObject);
    if (isErrorEvent(noEvent, json)) return fail(body);
    readBehind(whole.slice(body.length));
    close({ type: "done" });
  }

  /** Reads the events behind a body. */
  function readBehind(rest: string): void {
    events.push(new TextEncoder().encode(rest));
  }

  function endEvents(): void {
    isLastLine = true;
    const last = events.end();
    if (parser.end) return;
    // an event without its blank line counts if it is whole; `[DONE]` often comes so
    if (last && isWholeEvent(last)) readEvent(last);
    closeStray();
    if (unsaid !== undefined) fail(unsaid);
    close({ type: "cut", words: stray.words });
  }

  function readEvent(given: ServerSentEvent): void {
    const { event, data } = given;
    closeStray();
    if (parser.end) return;
    if (isDone(data)) return unsaid === undefined ? close({ type: "done" }) : fail(unsaid);
    const chunk = frames.parse(data);
    // a frame that is like those before is as harmless as they were, and a search in each costs more than its parsing
    const hasFailed = !(frames.isAlike && event === "message") && isErrorEvent(given, chunk);
    if ((data === "" || unsaid !== undefined) && !hasFailed) return;
    if (isRecord(chunk)) {
      // the frame of an error may have the last content
      if (!hasFailed || chunk.choices) readChunk(chunk);
      if (chunk.choices === undefined) foreign ??= data;
    }
    if (hasFailed) fail(data);
    // an event of another name is not part of the chat, and may carry anything
    else if (!isRecord(chunk) && event === "message")
      close({
        type: "malformed",
        problem: `a frame of the stream is no JSON object ${excerpt(wordsOf(data), 80)}`.trimEnd(),
      });
  }

  function readChunk(chunk: WireObject): void {
    if (answer.read(chunk)) onContent();
  }

  function failWithWords(said: string): void {
    if (unsaid === undefined && errorFieldsOfText(said).message === undefined) unsaid = said;
    else fail(said);
  }

  function closeStray(): void {
    if (!hasStray) return;
    stray.close();
    foreign ??= stray.words;
  }

  /** Ends with an error, which is a refusal where no part of an answer has come. */
  function fail(said: string): void {
    const json = parseJSON(said);
    // the choices beside an error may have the model's text
    const rest = isRecord(json) && excerpt(jsonOf({ ...json, choices: undefined }) ?? "", 500);
    const given = errorFieldsOfText(said);
    const message =
      given.message ?? `the gateway reported an error without a message${rest ? `: ${rest}` : ""}`;
    const fields = { ...given, message };
    if (!answer.begun && isRecord(json)) close({ type: "refusal", body: said, fields });
    else close({ type: "error", fields });
  }

  /** Ends with a body that has no part of an answer. */
  function refuse(body: string): void {
    const isJSON = /^\s*[{[]/.test(body);
    close({ type: "refusal", body, fields: isJSON ? errorFieldsOfText(body.trim()) : undefined });
  }

  function close(how: StreamEnd): void {
    if (parser.end) return;
    let end = correctEnd(how);
    if (end.type === "done" || (end.type === "cut" && answer.finished)) {
      const { problem } = answer;
      if (problem) end = { type: "malformed", problem: `the answer can't be read: ${problem}` };
      else parser.isWhole = true;
    }
    parser.end = end;
    if (parser.isWhole) answer.finish();
  }

  /** Corrects an end that looks like that of an answer. */
  function correctEnd(how: StreamEnd): StreamEnd {
    const isEmpty = !answer.begun && (how.type === "done" || (how.type === "cut" && foreign !== undefined));
    if (isEmpty) return { type: "refusal", body: foreign ?? "" };
    const { words } = stray;
    // a text came in place of the rest
    if (how.type === "done" && words && !answer.finished)
      return { type: "error", fields: { message: wordsOf(words) || "a text came in place of the rest" } };
    return how;
  }
}

function isDone(data: string): boolean {
  return data.trimEnd() === "[DONE]";
}

function isWholeEvent({ event, data }: ServerSentEvent): boolean {
  return isDone(data) || isRecord(parseJSON(data)) || (/error/i.test(event) && !/^[{[]/.test(data));
}
