import { addValue, setKey } from "./document.js";
import { createGrowingNumber, isWhole, matchNumber, readDigits } from "./number.js";
import { endValue, type Parser, refuse } from "./state.js";
import { beginString, findEndOfPlainString, readString } from "./string.js";

/** Begins a string or key. Most of them end in the same piece. */
export function beginText(parser: Parser, phase: "string" | "key", piece: string, start: number): number {
  parser.phase = phase;
  if (phase === "string") parser.document.isChanged = true;
  const end = findEndOfPlainString(piece, start);
  if (end !== -1) {
    addText(parser, piece.slice(start, end));
    return end + 1;
  }
  beginString(parser.string);
  return start;
}

/** Reads the next part of a string or key. */
export function readText(parser: Parser, piece: string, start: number): number {
  const { phase, string, document } = parser;
  const { length } = string.text;
  const at = readString(string, piece, start);
  if (phase === "string" && string.text.length > length) document.isChanged = true;
  if (string.phase === "malformed") return refuse(parser, piece);
  if (string.phase === "ended") addText(parser, string.text.readable);
  return at;
}

function addText(parser: Parser, whole: string): void {
  if (parser.phase === "string") return addWhole(parser, whole);
  setKey(parser.document, whole);
  parser.phase = "colon";
}

/** Begins a number. Most of them end in the same piece. */
export function beginNumber(parser: Parser, piece: string, at: number): number {
  const whole = matchNumber(piece, at);
  if (whole !== undefined) {
    addUnseen(parser, Number(whole));
    return at + whole.length;
  }
  parser.number = createGrowingNumber();
  parser.phase = "number";
  return readNumber(parser, piece, at);
}

/** Reads the rest of a number. */
export function readNumber(parser: Parser, piece: string, start: number): number {
  const { number, document } = parser;
  const at = readDigits(number, piece, start);
  if (!document.innermost) document.isChanged = true;
  if (at === piece.length) return at;
  if (!isWhole(number)) return refuse(parser, piece);
  addUnseen(parser, Number(number.text));
  return at;
}

/** Reads a literal, or its rest. */
export function readLiteral(parser: Parser, piece: string, at: number): number {
  const { rest, value } = parser.literal;
  const part = piece.slice(at, at + rest.length);
  if (!rest.startsWith(part)) return refuse(parser, piece);
  if (part === rest) addUnseen(parser, value);
  else {
    parser.literal = { rest: rest.slice(part.length), value };
    parser.phase = "literal";
  }
  return at + part.length;
}

/** Adds a complete value that no reading has shown in part. */
function addUnseen(parser: Parser, value: unknown): void {
  parser.document.isChanged = true;
  addWhole(parser, value);
}

function addWhole(parser: Parser, value: unknown): void {
  addValue(parser.document, value);
  endValue(parser);
}
