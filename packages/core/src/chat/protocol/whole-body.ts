import { isRecord, parseJSON } from "../../transport/error-response.js";
import { MAX_LENGTH } from "../../transport/event-stream.js";
import type { WireObject } from "./field-reader.js";
import type { FrameReader } from "./frame-reader.js";
import { namesError } from "./reported-error.js";
import type { Ending } from "./stream-end.js";

/** Reads a body that is not an event stream, or begins as none: a whole answer as JSON, an error, or a page. */
export interface WholeBody {
  /** @throws {RangeError} when the body is too long */
  push(bytes: Uint8Array): void;
  /** Ends the bytes. */
  end(): void;
}

/** JSON outside of an event stream. */
const noEvent = { event: "", data: "" };

/** Creates the reader of a whole body. `onChunk` gets the answer, and `onEvents` the events behind it. */
export function createWholeBody(
  frames: FrameReader,
  ending: Ending,
  onChunk: (chunk: WireObject) => void,
  onEvents: (text: string) => void,
): WholeBody {
  const decoder = new TextDecoder();
  let text = "";
  return {
    push(bytes) {
      const isInFirstLine = !text.trim().includes("\n");
      text += decoder.decode(bytes, { stream: true });
      if (text.length > MAX_LENGTH) throw new RangeError(`it is longer than ${MAX_LENGTH} characters`);
      if (isInFirstLine) readFirstLine();
    },
    end: () => readWhole(text + decoder.decode()),
  };

  /** Ends with an error in the first line, because a stream may follow it and the connection may stay open. */
  function readFirstLine(): void {
    const [line = "", rest] = text.trimStart().split("\n", 2);
    if (rest !== undefined && frames.isError(noEvent, parseJSON(line))) ending.refuse(line);
  }

  function readWhole(whole: string): void {
    const body = bodyOf(whole);
    const json = parseJSON(whole) ?? parseJSON(body);
    // the words of an error that broke off may come behind it
    if (json === undefined && namesError(body)) onEvents(`${whole}\n\n`);
    const { choices } = isRecord(json) ? json : {};
    const [choice] = Array.isArray(choices) ? choices : [];
    // a completion has a message; any other JSON with status 200 is an error of the gateway
    if (!isRecord(choice?.message ?? choice?.delta)) return ending.refuse(body);
    onChunk(json as WireObject);
    if (frames.isError(noEvent, json)) return ending.fail(body);
    onEvents(whole.slice(body.length));
    ending.end({ type: "done" });
  }
}

/** Returns a body without the events behind it. */
function bodyOf(text: string): string {
  const events = text.search(/\n(?:data|event):/);
  return events === -1 ? text : text.slice(0, events);
}
