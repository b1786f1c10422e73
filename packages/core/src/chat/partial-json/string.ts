import { createGrowingText, type GrowingText } from "./text.js";

/**
 * Phase of a string: the meaning of its next character.
 *
 * - `characters`: a character, the closing quote, or the backslash of an escape
 * - `escape`: the character after a backslash
 * - `code unit`: one of the four digits after `\u`
 * - `ended`: the closing quote has come
 * - `malformed`: an invalid character came
 */
type StringPhase = "characters" | "escape" | "code unit" | "ended" | "malformed";

/** A string or key after its opening quote. It may arrive in several pieces. */
export interface GrowingString {
  phase: StringPhase;
  readonly text: GrowingText;
  /** Digits of a code unit. */
  digits: string;
}

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const HEX_DIGIT = /[\da-f]/i;
/** Meanings of escapes, by the code of the character after the backslash. */
const MEANINGS: readonly (string | undefined)[] = Object.assign([], {
  [QUOTE]: '"',
  [BACKSLASH]: "\\",
  47: "/",
  98: "\b",
  102: "\f",
  110: "\n",
  114: "\r",
  116: "\t",
});

/** Creates an empty string. */
export function createGrowingString(): GrowingString {
  return { phase: "characters", text: createGrowingText(), digits: "" };
}

/** Begins another string. */
export function beginString(string: GrowingString): void {
  string.phase = "characters";
  string.text.clear();
}

/** Returns the index of the closing quote of a string without escapes; -1 if the piece does not contain it. */
export function findEndOfPlainString(piece: string, start: number): number {
  for (let at = start; at < piece.length; at += 1) {
    const code = piece.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH || code < SPACE) break;
  }
  return -1;
}

/** Reads one or more characters, and returns the index of the next one. */
export function readString(string: GrowingString, piece: string, at: number): number {
  if (string.phase === "characters") return readCharacters(string, piece, at);
  if (string.phase === "escape") readEscape(string, piece, at);
  else readDigit(string, piece.charAt(at));
  return at + 1;
}

function readCharacters(string: GrowingString, piece: string, start: number): number {
  let from = start;
  for (let at = start; at < piece.length; at += 1) {
    const code = piece.charCodeAt(at);
    if (code >= SPACE && code !== QUOTE && code !== BACKSLASH) continue;
    if (at > from) string.text.append(piece.slice(from, at));
    const meaning =
      code === BACKSLASH && at + 1 < piece.length ? MEANINGS[piece.charCodeAt(at + 1)] : undefined;
    if (meaning === undefined) {
      endCharacters(string, code);
      return at + 1;
    }
    // most escapes arrive in one piece
    string.text.append(meaning);
    at += 1;
    from = at + 1;
  }
  if (from < piece.length) string.text.append(piece.slice(from));
  return piece.length;
}

/** Changes the phase at a character with a special meaning. */
function endCharacters(string: GrowingString, code: number): void {
  if (code === QUOTE) string.text.end();
  string.phase = code === QUOTE ? "ended" : code === BACKSLASH ? "escape" : "malformed";
}

function readEscape(string: GrowingString, piece: string, at: number): void {
  const meaning = MEANINGS[piece.charCodeAt(at)];
  string.digits = "";
  if (meaning !== undefined) endEscape(string, meaning);
  else string.phase = piece.charAt(at) === "u" ? "code unit" : "malformed";
}

function readDigit(string: GrowingString, digit: string): void {
  string.digits += digit;
  if (!HEX_DIGIT.test(digit)) string.phase = "malformed";
  else if (string.digits.length === 4)
    endEscape(string, String.fromCharCode(Number.parseInt(string.digits, 16)));
}

function endEscape(string: GrowingString, meaning: string): void {
  string.text.append(meaning);
  string.phase = "characters";
}
