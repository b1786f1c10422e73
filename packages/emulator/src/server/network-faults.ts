import type { Answer, BodyWriter } from "./http.js";

/**
 * A failure of the network, not of the gateway. `refuse` rejects as for an unreachable host, `hang` does not answer
 * until the request aborts, and `reset` breaks the connection within the body.
 */
export type Fault = "refuse" | "hang" | "reset";

const WHOLE_FRAMES = 3;

/** Creates the error of a `fetch` that could not connect. */
export function refused(): TypeError {
  return new TypeError("fetch failed");
}

/** Creates the error of a body whose connection broke. */
export function reset(): TypeError {
  return new TypeError("terminated");
}

/** Breaks the body of an answer: a stream within its fourth frame, any other halfway. */
export function breakMidway(answer: Answer): Answer {
  const { body } = answer;
  if (typeof body === "function") return { ...answer, body: broken(body, WHOLE_FRAMES) };
  return {
    ...answer,
    body: broken(async function* () {
      yield body;
    }, 0),
  };
}

function broken(write: BodyWriter, wholePieces: number): BodyWriter {
  return async function* (signal) {
    let remaining = wholePieces;
    for await (const piece of write(signal)) {
      if (remaining-- > 0) yield piece;
      else {
        yield piece.slice(0, Math.ceil(piece.length / 2));
        throw reset();
      }
    }
  };
}
