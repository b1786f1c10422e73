import {
  addValue,
  closeContainer,
  createDocument,
  type GrowingDocument,
  openContainer,
  setKey,
  takeSnapshot,
} from "./document.js";
import {
  clearNumber,
  createGrowingNumber,
  type GrowingNumber,
  isWhole,
  numberAt,
  readDigits,
} from "./number.js";
import {
  beginString,
  createGrowingString,
  endOfPlainString,
  type GrowingString,
  readString,
} from "./string.js";

/**
 * Phase of a parser: what the next character belongs to.
 *
 * - `value`, `first entry`, `entry`, `colon`, `comma or end`: the token that is expected, or a space before it
 * - `string`, `key`, `number`, `literal`: a token that has begun
 * - `end`: the document is whole, and only spaces may follow
 * - `malformed`: the text is not JSON, and the rest is dropped
 */
type Phase =
  | "value"
  | "first entry"
  | "entry"
  | "colon"
  | "comma or end"
  | "string"
  | "key"
  | "number"
  | "literal"
  | "end"
  | "malformed";

/** A literal; `rest` is what has not come of its word. */
interface Literal {
  readonly rest: string;
  readonly value: boolean | null;
}

/** State of a parser. */
interface Parser {
  phase: Phase;
  readonly document: GrowingDocument;
  readonly maxDepth: number;
  /** The token of the phases `string` and `key`. */
  readonly string: GrowingString;
  /** The token of the phase `number`. */
  readonly number: GrowingNumber;
  /** The token of the phase `literal`. */
  literal: Literal;
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const NULL: Literal = { rest: "null", value: null };
const LITERALS = [{ rest: "true", value: true }, { rest: "false", value: false }, NULL];

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

/** Returns if the document may end here. */
export function stateOf(parser: Parser): "open" | "complete" | "malformed" {
  const { phase } = parser;
  if (phase === "malformed") return phase;
  return phase === "end" || isWholeDocument(parser) ? "complete" : "open";
}

/**
 * Handles a number outside all containers. A number has no closing sign, so it may be the whole document or its
 * beginning.
 */
function isWholeDocument({ phase, document, number }: Parser): boolean {
  return phase === "number" && !document.innermost && isWhole(number);
}

/** Reads one or more characters, and returns the index of the next one. */
export function read(parser: Parser, piece: string, at: number): number {
  switch (parser.phase) {
    case "string":
    case "key":
      return readText(parser, parser.phase, piece, at);
    case "number":
      return readNumber(parser, piece, at);
    case "literal":
      return readLiteral(parser, piece, at);
    case "malformed":
      return piece.length;
    default:
      return readBetween(parser, piece, at);
  }
}

/** Reads a space, or begins the token that the phase expects. */
function readBetween(parser: Parser, piece: string, at: number): number {
  const code = piece.charCodeAt(at);
  if (code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB) return at + 1;
  switch (parser.phase) {
    case "value":
      return beginValue(parser, piece, at, code);
    case "first entry":
      return isClosing(parser, code) ? close(parser, at) : beginEntry(parser, piece, at, code);
    case "entry":
      return beginEntry(parser, piece, at, code);
    case "colon":
      return code === COLON ? expect(parser, "value", at) : refuse(parser, piece);
    case "comma or end":
      if (isClosing(parser, code)) return close(parser, at);
      return code === COMMA ? expect(parser, "entry", at) : refuse(parser, piece);
    default:
      return refuse(parser, piece);
  }
}

/** Takes the sign at an index, and expects another token. */
function expect(parser: Parser, phase: Phase, at: number): number {
  parser.phase = phase;
  return at + 1;
}

/** Ends the document where it is malformed, and drops the rest. The value stays as it is. */
function refuse(parser: Parser, piece: string): number {
  takeValue(parser);
  parser.phase = "malformed";
  return piece.length;
}

function beginEntry(parser: Parser, piece: string, at: number, code: number): number {
  if (parser.document.innermost?.items) return beginValue(parser, piece, at, code);
  return code === QUOTE ? beginText(parser, "key", piece, at + 1) : refuse(parser, piece);
}

function beginValue(parser: Parser, piece: string, at: number, code: number): number {
  if (code === QUOTE) return beginText(parser, "string", piece, at + 1);
  if (code === OPENING_BRACE) return open(parser, undefined, piece, at);
  if (code === OPENING_BRACKET) return open(parser, [], piece, at);
  const literal = LITERALS.find(({ rest }) => rest.charCodeAt(0) === code);
  if (!literal) return beginNumber(parser, piece, at);
  parser.literal = literal;
  return readLiteral(parser, piece, at);
}

function open(parser: Parser, items: unknown[] | undefined, piece: string, at: number): number {
  const { document, maxDepth } = parser;
  if ((document.innermost?.depth ?? 0) >= maxDepth) return refuse(parser, piece);
  openContainer(document, items);
  return expect(parser, "first entry", at);
}

function isClosing({ document }: Parser, code: number): boolean {
  return code === (document.innermost?.items ? CLOSING_BRACKET : CLOSING_BRACE);
}

function close(parser: Parser, at: number): number {
  closeContainer(parser.document);
  endValue(parser);
  return at + 1;
}

/** Begins a string or key. Most end in the same piece. */
function beginText(parser: Parser, phase: "string" | "key", piece: string, start: number): number {
  if (phase === "string") parser.document.isChanged = true;
  const end = endOfPlainString(piece, start);
  if (end !== -1) {
    giveText(parser, phase, piece.slice(start, end));
    return end + 1;
  }
  beginString(parser.string);
  parser.phase = phase;
  return start;
}

function readText(parser: Parser, phase: "string" | "key", piece: string, start: number): number {
  const { string, document } = parser;
  const { length } = string.text;
  const at = readString(string, piece, start);
  if (phase === "string" && string.text.length > length) document.isChanged = true;
  if (string.phase === "malformed") return refuse(parser, piece);
  if (string.phase === "ended") giveText(parser, phase, string.text.readable);
  return at;
}

function giveText(parser: Parser, phase: "string" | "key", whole: string): void {
  if (phase === "string") return give(parser, whole);
  setKey(parser.document, whole);
  parser.phase = "colon";
}

/** Begins a number. Most end in the same piece. */
function beginNumber(parser: Parser, piece: string, at: number): number {
  const whole = numberAt(piece, at);
  if (whole !== undefined) {
    giveNew(parser, Number(whole));
    return at + whole.length;
  }
  clearNumber(parser.number);
  parser.phase = "number";
  return readNumber(parser, piece, at);
}

function readNumber(parser: Parser, piece: string, start: number): number {
  const { number, document } = parser;
  const at = readDigits(number, piece, start);
  if (!document.innermost) document.isChanged = true;
  if (at === piece.length) return at;
  if (!isWhole(number)) return refuse(parser, piece);
  giveNew(parser, Number(number.text));
  return at;
}

/** Reads a literal, or the rest of it. */
function readLiteral(parser: Parser, piece: string, at: number): number {
  const { rest, value } = parser.literal;
  const part = piece.slice(at, at + rest.length);
  if (!rest.startsWith(part)) return refuse(parser, piece);
  if (part === rest) giveNew(parser, value);
  else {
    parser.literal = { rest: rest.slice(part.length), value };
    parser.phase = "literal";
  }
  return at + part.length;
}

/** Adds a whole value of which no reading has shown a part. */
function giveNew(parser: Parser, value: unknown): void {
  parser.document.isChanged = true;
  give(parser, value);
}

function give(parser: Parser, value: unknown): void {
  addValue(parser.document, value);
  endValue(parser);
}

function endValue(parser: Parser): void {
  parser.phase = parser.document.innermost ? "comma or end" : "end";
}
