import { parseJSON } from "../../transport/error-response.js";
import type { ServerSentEvent } from "../../transport/event-stream.js";
import { createFrameParser } from "./frame-json.js";
import { isErrorEvent } from "./reported-error.js";

/** Reads the frames of one stream. */
export interface FrameReader {
  /** Parses the data of an event; undefined where it is no JSON. The value is right until the next call. */
  parse(data: string): unknown;
  /** Returns true if an event is an error. `json` is its data, which was parsed last. */
  isError(event: Pick<ServerSentEvent, "event" | "data">, json: unknown): boolean;
}

/** Creates a reader of frames that finds an error in any form. */
export function createFrameReader(): FrameReader {
  const frames = createFrameParser(parseJSON);
  return {
    parse: frames.parse,
    // a frame that is like those before is as harmless as they were, and a search in each costs more than its parsing
    isError: (event, json) => !(frames.isAlike && event.event === "message") && isErrorEvent(event, json),
  };
}
