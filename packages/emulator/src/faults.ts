import type { Answer, BodyWriter } from "./http.js";

/**
 * A failure of the network, not of the gateway: `refuse` rejects as an unreachable host does (nothing was
 * received), `hang` never answers until the request aborts, `reset` breaks the connection within the body.
 */
export type Fault = "refuse" | "hang" | "reset";

const WHOLE_FRAMES = 3;

/** What `fetch` rejects with when no connection comes about. */
export function refused(): TypeError {
  return new TypeError("fetch failed");
}

/** What a body breaks with when its connection does. */
export function reset(): TypeError {
  return new TypeError("terminated");
}

/** `answer`, but its body breaks: a stream within its fourth frame, anything else halfway. */
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
    let left = wholePieces;
    for await (const piece of write(signal)) {
      if (left-- > 0) yield piece;
      else {
        yield piece.slice(0, Math.ceil(piece.length / 2));
        throw reset();
      }
    }
  };
}
