import { createDocument, type GrowingDocument, takeSnapshot } from "./document.js";
import { createGrowingNumber, type GrowingNumber, isWhole } from "./number.js";
import { createGrowingString, type GrowingString } from "./string.js";

/**
 * Phase of a parser: the token of the next character.
 *
 * - `value`, `colon`: the token that is expected, or a space before it
 * - `first`: the first entry of an array or object, or its end
 * - `entry`: another entry
 * - `comma`: the comma after an entry, or the end
 * - `string`, `key`, `number`, `literal`: a token that has begun
 * - `end`: the document is complete, and only spaces may follow
 * - `malformed`: the text is not JSON, and the parser ignores the rest
 */
export type Phase =
  | "value"
  | "first"
  | "entry"
  | "colon"
  | "comma"
  | "string"
  | "key"
  | "number"
  | "literal"
  | "end"
  | "malformed";

/** A literal; `rest` is the missing part of its word. */
interface Literal {
  readonly rest: string;
  readonly value: boolean | null;
}

/** State of a parser. */
export interface Parser {
  phase: Phase;
  readonly document: GrowingDocument;
  readonly maxDepth: number;
  /** The token of the phases `string` and `key`. */
  readonly string: GrowingString;
  /** The token of the phase `number`. */
  number: GrowingNumber;
  /** The token of the phase `literal`. */
  literal: Literal;
}

const NULL: Literal = { rest: "null", value: null };
export const LITERALS: readonly Literal[] = [
  { rest: "true", value: true },
  { rest: "false", value: false },
  NULL,
];

/** Creates a parser before the first character. */
export function createParser(maxDepth: number): Parser {
  return {
    phase: "value",
    document: createDocument(),
    maxDepth,
    string: createGrowingString(),
    number: createGrowingNumber(),
    literal: NULL,
  };
}

/** Returns the value of the document so far. */
export function takeValue(parser: Parser): unknown {
  const { phase, document, string, number } = parser;
  if (document.isChanged) {
    const whole = isWholeDocument(parser) ? Number(number.text) : undefined;
    takeSnapshot(document, phase === "string" ? string.text.readable : whole);
  }
  return document.value;
}

/** Returns `complete` if the document may end here. */
export function findState(parser: Parser): "open" | "complete" | "malformed" {
  const { phase } = parser;
  if (phase === "malformed") return phase;
  return phase === "end" || isWholeDocument(parser) ? "complete" : "open";
}

/**
 * Returns true for a number at the top level. A number has no closing character, so it may be the whole document or its
 * beginning.
 */
function isWholeDocument({ phase, document, number }: Parser): boolean {
  return phase === "number" && !document.innermost && isWhole(number);
}

/** Ends a malformed document and ignores the rest. The value stays unchanged. */
export function refuse(parser: Parser, piece: string): number {
  takeValue(parser);
  parser.phase = "malformed";
  return piece.length;
}

/** Expects the token after a value. */
export function endValue(parser: Parser): void {
  parser.phase = parser.document.innermost ? "comma" : "end";
}
