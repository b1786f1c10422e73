import { read } from "./grammar.js";
import { createParser, findState, takeValue } from "./state.js";

/**
 * A JSON document that arrives in pieces, readable at any time.
 *
 * While the document is open, a string has all characters so far, but never half an escape or half a surrogate pair. A
 * number or literal appears once it is complete. An object has a key once the key's value has begun. The final value
 * equals the result of `JSON.parse`, up to `maxDepth` open arrays and objects.
 *
 * A byte order mark and a Markdown fence around the document are not JSON: remove them before `push`.
 */
export interface PartialJSON {
  /** Reads the next piece of text, of any length. The cost depends only on the length of the piece. */
  push(piece: string): void;
  /**
   * Value of the document so far; `undefined` before it has begun. The value is plain data and never changes. The next
   * piece creates a new value, whose unchanged parts keep their identity.
   */
  readonly value: unknown;
  /**
   * `complete`: the document is complete. `malformed`: the text is not JSON; `value` keeps the part before the error.
   * `open`: the document is incomplete. A document that is a number, such as `12`, is complete but may still continue.
   */
  readonly state: "open" | "complete" | "malformed";
}

/** Options of `createPartialJSON`. */
export interface PartialJSONOptions {
  /**
   * Largest number of nested open arrays and objects. A deeper document is malformed, even if `JSON.parse` accepts it.
   * `Infinity` removes the limit.
   *
   * @default 500
   */
  readonly maxDepth?: number;
}

/**
 * Creates a parser of a JSON document that arrives in pieces, such as the arguments of a tool call.
 *
 * The cost of a piece depends on its length. Reading `value` copies every changed open container. For arrays of many
 * thousands of items, read `value` only when you show it, not after each piece.
 *
 * @example
 * ```ts
 * const document = createPartialJSON();
 * document.push('{"city": "Par');
 * document.value; // { city: "Par" }
 * document.push('is", "days": 3}');
 * document.value; // { city: "Paris", days: 3 }
 * document.state; // "complete"
 * ```
 */
export function createPartialJSON({ maxDepth = 500 }: PartialJSONOptions = {}): PartialJSON {
  const parser = createParser(maxDepth);
  return {
    push(piece) {
      for (let at = 0; at < piece.length; ) at = read(parser, piece, at);
    },
    get value() {
      return takeValue(parser);
    },
    get state() {
      return findState(parser);
    },
  };
}
