import { read } from "./grammar.js";
import { createParser, findState, takeValue } from "./state.js";

/**
 * A JSON document that arrives in pieces, readable at any time.
 *
 * While the document is open, a text has all characters so far, but never half an escape or half a surrogate pair. A
 * number or literal appears once it is whole. An object has a key once its value has begun. The final value equals that
 * of `JSON.parse`, down to `maxDepth` open arrays and objects.
 *
 * A byte order mark and a fence of Markdown around the document are not JSON: take them off before `push`.
 */
export interface PartialJSON {
  /** Reads the next piece of text, of any length. The cost depends only on the length of the piece. */
  push(piece: string): void;
  /**
   * Value of the document so far; `undefined` before it has begun. The value is plain data and never changes. The next
   * piece makes a new value, in which unchanged parts keep their identity.
   */
  readonly value: unknown;
  /**
   * `complete`: a whole document has come. `malformed`: the text is not JSON; `value` keeps the part before the error.
   * `open`: the document is not whole yet. A document that is a number, such as `12`, is complete and may still
   * continue.
   */
  readonly state: "open" | "complete" | "malformed";
}

/** Options of `createPartialJSON`. */
export interface PartialJSONOptions {
  /**
   * Most arrays and objects that may be open inside each other. One more is malformed, also where `JSON.parse` takes it.
   * `Infinity` sets no bound.
   *
   * @default 500
   */
  readonly maxDepth?: number;
}

/**
 * Reads a JSON document while it arrives, such as the arguments of a tool call.
 *
 * A piece costs time by its length. Reading `value` copies every open container that has changed. For arrays
 * of many thousands of items, read it as often as you show it, not after each piece.
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
