import { createGrowingText } from "./text.js";

/**
 * Phase of a string: what its next character is.
 *
 * - `characters`: a character, the closing quote, or the backslash of an escape
 * - `escape`: the character after a backslash
 * - `code unit`: one of the four digits after `\u`
 * - `ended`: the closing quote has come
 * - `malformed`: a character came that can't stand there
 */
type StringPhase = "characters" | "escape" | "code unit" | "ended" | "malformed";

/** A string or key that may come in several pieces, behind its opening quote. */
export interface GrowingString {
  readonly phase: StringPhase;
  /** Text so far, without a last unit that may be half of a surrogate pair. */
  readonly text: string;
  /** Length of `text`. */
  readonly length: number;
  /** Begins another string. */
  begin(): void;
  /** Reads one or more characters, and returns the index of the next one. */
  read(piece: string, at: number): number;
}

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const HEX_DIGIT = /[\da-f]/i;
/** Characters that an escape stands for, at the code of the character after the backslash. */
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

/** Returns the index of the closing quote of a string without escapes; -1 where the piece does not show it. */
export function endOfPlainString(piece: string, start: number): number {
  for (let at = start; at < piece.length; at += 1) {
    const code = piece.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH || code < SPACE) break;
  }
  return -1;
}

/** Creates an empty string. */
export function createGrowingString(): GrowingString {
  const text = createGrowingText();
  let phase: StringPhase = "characters";
  /** Digits of a code unit. */
  let digits = "";

  return {
    get phase() {
      return phase;
    },
    get text() {
      return text.readable;
    },
    get length() {
      return text.length;
    },
    begin() {
      phase = "characters";
      text.clear();
    },
    read(piece, at) {
      if (phase === "characters") return readCharacters(piece, at);
      if (phase === "escape") readEscape(piece.charCodeAt(at));
      else readDigit(piece.charAt(at));
      return at + 1;
    },
  };

  function readCharacters(piece: string, start: number): number {
    let from = start;
    for (let at = start; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (code >= SPACE && code !== QUOTE && code !== BACKSLASH) continue;
      if (at > from) text.append(piece.slice(from, at));
      // most escapes are in one piece
      const meaning = code === BACKSLASH ? MEANINGS[piece.charCodeAt(at + 1)] : undefined;
      if (meaning === undefined) {
        endCharacters(code);
        return at + 1;
      }
      text.append(meaning);
      at += 1;
      from = at + 1;
    }
    if (from < piece.length) text.append(piece.slice(from));
    return piece.length;
  }

  /** Changes the phase at a character that does not stand for itself. */
  function endCharacters(code: number): void {
    if (code === QUOTE) text.end();
    phase = code === QUOTE ? "ended" : code === BACKSLASH ? "escape" : "malformed";
  }

  function readEscape(code: number): void {
    const meaning = MEANINGS[code];
    digits = "";
    if (meaning !== undefined) endEscape(meaning);
    else phase = code === LETTER_U ? "code unit" : "malformed";
  }

  function readDigit(digit: string): void {
    digits += digit;
    if (!HEX_DIGIT.test(digit)) phase = "malformed";
    else if (digits.length === 4) endEscape(String.fromCharCode(Number.parseInt(digits, 16)));
  }

  function endEscape(meaning: string): void {
    text.append(meaning);
    phase = "characters";
  }
}
