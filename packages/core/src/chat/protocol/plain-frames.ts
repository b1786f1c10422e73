import { errorFieldsOf, isRecord, parseJSON } from "../../transport/error-response.js";
import type { EventPlace } from "./event-cursor.js";

/** The code that reads the frames of a stream. It is loaded while a request is out. */
export type FrameCode = Pick<
  typeof import("./frame-reading.js"),
  "createEventCursor" | "createFrameReader" | "createStrayLines" | "errorFieldsOfText"
>;

/**
 * Stands in for the code that reads frames, where that could not be loaded. It reads more slowly, knows only the usual
 * form of an error, and drops lines that are no field.
 */
export const plainFrames: FrameCode = {
  createFrameReader: () => ({
    parse: parseJSON,
    isError: ({ event }, json) => event === "error" || (isRecord(json) && !!json.error),
  }),
  createStrayLines: () => ({ words: undefined, add() {}, close() {} }),
  createEventCursor() {
    let place: EventPlace = "next";
    return {
      id: "",
      moveTo: () => place,
      // nothing shows that an event of another connection was not read before
      restart() {
        place = "astray";
      },
    };
  },
  errorFieldsOfText: (text) => errorFieldsOf(parseJSON(text) ?? text) ?? {},
};
