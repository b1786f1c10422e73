import { excerpt, isRecord, parseJSON, wordsOf } from "../../transport/error-response.js";
import { createEventParser, type ServerSentEvent } from "../../transport/event-stream.js";
import { createEventCursor, type EventCursor } from "./event-cursor.js";
import type { WireObject } from "./field-reader.js";
import type { FrameReader } from "./frame-reader.js";
import { errorFieldsOfText } from "./reported-error.js";
import { createStrayLines } from "./stray-lines.js";
import type { Ending } from "./stream-end.js";

/** The consumer of the chunks of an answer. */
export interface ChunkConsumer {
  /** Returns true for an answer that may be read over several connections: the ids of its events then count. */
  isKept(): boolean;
  onChunk(chunk: WireObject): void;
}

/** Reads the event stream of an answer. */
export interface EventChunks {
  /** Place in an answer that is kept. */
  readonly cursor: EventCursor;
  push(bytes: Uint8Array): void;
  /** Ends the bytes. */
  end(): void;
  /** Continues with another connection, from the start of an event. The unfinished event of the last one is dropped. */
  restart(): void;
}

const ASTRAY = "events of the kept answer are missing";

/** Creates the reader of an answer's event stream. */
export function createEventChunks(
  frames: FrameReader,
  ending: Ending,
  { isKept, onChunk }: ChunkConsumer,
): EventChunks {
  const cursor = createEventCursor();
  /** The `id` of the event that is read. */
  let eventId = "";
  /** True once a line came that is no field. Few streams have one: the others spend nothing on it at each event. */
  let hasStray = false;
  /** Broken JSON that names an error and has no words of it. They may come behind it. */
  let unsaid: string | undefined;
  /** True while the last line is read, which the end of the bytes may have cut. */
  let isLastLine = false;
  const handlers = {
    onEvent: readEvent,
    onId(id: string) {
      eventId = id;
    },
    onUnknownField(name: string, value: string) {
      hasStray = true;
      stray.add(name, value, isLastLine);
    },
  };
  let events = createEventParser(handlers);
  let stray = createStrayLines(failWithWords);

  return {
    cursor,
    push: (bytes) => events.push(bytes),
    end() {
      isLastLine = true;
      const unfinished = events.end();
      if (ending.isOver) return;
      // an event without its blank line counts if it is whole; `[DONE]` often comes so
      if (unfinished && isWholeEvent(unfinished)) readEvent(unfinished);
      closeStray();
      if (unsaid !== undefined) ending.fail(unsaid);
      ending.end({ type: "cut", words: ending.words });
    },
    restart() {
      events = createEventParser(handlers);
      stray = createStrayLines(failWithWords);
      cursor.restart();
      eventId = "";
      isLastLine = false;
    },
  };

  function readEvent(given: ServerSentEvent): void {
    const { event, data } = given;
    const id = eventId;
    eventId = "";
    closeStray();
    if (ending.isOver) return;
    if (unsaid !== undefined && isDone(data)) return ending.fail(unsaid);
    if (isDone(data)) return isNext(id) ? ending.end({ type: "done" }) : undefined;
    const chunk = frames.parse(data);
    const hasFailed = frames.isError(given, chunk);
    if ((data === "" || unsaid !== undefined) && !hasFailed) return;
    if (isRecord(chunk)) {
      // the frame of an error may have the last content
      if ((!hasFailed || chunk.choices) && isNext(id)) onChunk(chunk);
      if (chunk.choices === undefined) ending.foreign ??= data;
    }
    if (hasFailed) ending.fail(data);
    // an event of another name is not part of the chat, and may carry anything
    else if (!isRecord(chunk) && event === "message")
      ending.end({
        type: "malformed",
        problem: `a frame of the stream is no JSON object ${excerpt(wordsOf(data), 80)}`.trimEnd(),
      });
  }

  /** Returns true for the event that follows the last one. Ends where its place is unknown; an error needs no place. */
  function isNext(id: string): boolean {
    if (!isKept()) return true;
    const place = cursor.moveTo(id);
    if (place === "astray") ending.end({ type: "cut", cause: new Error(ASTRAY) });
    return place === "next";
  }

  function failWithWords(text: string): void {
    if (unsaid === undefined && errorFieldsOfText(text).message === undefined) unsaid = text;
    else ending.fail(text);
  }

  function closeStray(): void {
    if (!hasStray) return;
    stray.close();
    ending.words = stray.words;
    ending.foreign ??= stray.words;
  }
}

function isDone(data: string): boolean {
  return data.trimEnd() === "[DONE]";
}

function isWholeEvent({ event, data }: ServerSentEvent): boolean {
  return isDone(data) || isRecord(parseJSON(data)) || (/error/i.test(event) && !/^[{[]/.test(data));
}
