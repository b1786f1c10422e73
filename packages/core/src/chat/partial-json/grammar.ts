import { closeContainer, openContainer } from "./document.js";
import { endValue, LITERALS, type Parser, type Phase, refuse } from "./state.js";
import { beginNumber, beginText, readLiteral, readNumber, readText } from "./tokens.js";

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

/** Reads one or more characters, and returns the index of the next one. */
export function read(parser: Parser, piece: string, at: number): number {
  switch (parser.phase) {
    case "string":
    case "key":
      return readText(parser, piece, at);
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

/** Reads a space, or begins the next token. */
function readBetween(parser: Parser, piece: string, at: number): number {
  const code = piece.charCodeAt(at);
  if (code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB) return at + 1;
  switch (parser.phase) {
    case "value":
      return beginValue(parser, piece, at, code);
    case "first":
      return isClosing(parser, code) ? close(parser, at) : beginEntry(parser, piece, at, code);
    case "entry":
      return beginEntry(parser, piece, at, code);
    case "colon":
      return code === COLON ? expect(parser, "value", at) : refuse(parser, piece);
    case "comma":
      if (isClosing(parser, code)) return close(parser, at);
      return code === COMMA ? expect(parser, "entry", at) : refuse(parser, piece);
    default:
      return refuse(parser, piece);
  }
}

/** Consumes the character at an index and expects another token. */
function expect(parser: Parser, phase: Phase, at: number): number {
  parser.phase = phase;
  return at + 1;
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
  return expect(parser, "first", at);
}

function isClosing({ document }: Parser, code: number): boolean {
  return code === (document.innermost?.items ? CLOSING_BRACKET : CLOSING_BRACE);
}

function close(parser: Parser, at: number): number {
  closeContainer(parser.document);
  endValue(parser);
  return at + 1;
}
