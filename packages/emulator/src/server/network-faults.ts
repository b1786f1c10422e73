import type { BodyWriter, HandlerResponse } from "./http.js";

/**
 * A network failure. `refuse` rejects as for an unreachable host. `hang` never responds. `reset` breaks the connection
 * within the body.
 */
export type Fault = "refuse" | "hang" | "reset";

const WHOLE_FRAMES = 3;

/** Creates the error of a `fetch` that could not connect. */
export function createRefusedError(): TypeError {
  return new TypeError("fetch failed");
}

/** Creates the error of a body whose connection broke. */
export function createResetError(): TypeError {
  return new TypeError("terminated");
}

/** Breaks the body of a response: a stream within its fourth frame, any other body halfway. */
export function breakBody(response: HandlerResponse): HandlerResponse {
  const { body } = response;
  if (typeof body === "function") return { ...response, body: breakWriter(body, WHOLE_FRAMES) };
  return {
    ...response,
    body: breakWriter(async function* () {
      yield body;
    }, 0),
  };
}

function breakWriter(write: BodyWriter, wholePieces: number): BodyWriter {
  return async function* (signal) {
    let remaining = wholePieces;
    for await (const piece of write(signal)) {
      if (remaining-- > 0) yield piece;
      else {
        yield piece.slice(0, Math.ceil(piece.length / 2));
        throw createResetError();
      }
    }
  };
}
