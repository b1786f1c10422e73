import { createGrowingText, GrowingValue } from "./value.js";

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
  /** Reads the next piece of text, of any length. The cost depends on the length of the piece. */
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
 * Phase of a parser: the token of the next character.
 *
 * - `value`, `colon`: the token that is expected, or a space before it
 * - `first`: the first entry of an array or object, or its end
 * - `entry`: another entry
 * - `comma`: the comma after an entry, or the end
 * - `string`, `key`: a token that has begun
 * - `end`: the document is complete, and only spaces may follow
 * - `malformed`: the text is not JSON, and the parser ignores the rest
 */
type Phase = "value" | "first" | "entry" | "colon" | "comma" | "string" | "key" | "end" | "malformed";

const SPACES = " \n\r\t";
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Meanings of escapes by the character after the backslash. */
const MEANINGS: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};
const LITERALS = [
  ["true", true],
  ["false", false],
  ["null", null],
] as const;
const CODE_UNIT = /\\u([\da-fA-F]{4})/y;
const WHOLE_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** A number, followed by a character that cannot continue it. */
const CLOSED_NUMBER = /(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)[^\d.eE+-]/y;
/** The beginning of a number, or a whole one that may continue, at the end of a piece. */
const OPEN_NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.\d*|(?:\.\d+)?[eE][+-]?\d*)?)?$/y;
/** An escape whose rest is missing at the end of a piece. */
const OPEN_ESCAPE = /\\(?:u[\da-fA-F]{0,3})?$/y;

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
  let phase: Phase = "value";
  const document = new GrowingValue();
  /** Beginning of an escape, literal or number whose rest may still arrive. */
  let tail = "";
  const string = createGrowingText();

  return {
    push(piece) {
      const text = tail + piece;
      tail = "";
      for (let at = 0; at < text.length; ) at = read(text, at);
    },
    get value() {
      return document.read(readPartial);
    },
    get state() {
      if (phase === "malformed") return phase;
      return phase === "end" || isWholeNumber() ? "complete" : "open";
    },
  };

  /** Reads one or more characters, and returns the index of the next one. */
  function read(text: string, at: number): number {
    switch (phase) {
      case "string":
      case "key":
        return readString(text, at);
      case "malformed":
        return text.length;
      default:
        return readBetween(text, at);
    }
  }

  /** Reads a space, or begins the next token. */
  function readBetween(text: string, at: number): number {
    const character = text.charAt(at);
    if (character <= " ") return SPACES.includes(character) ? at + 1 : refuse(text);
    switch (character) {
      case "]":
      case "}":
        return phase === "comma" || phase === "first" ? close(character, text, at) : refuse(text);
      case ",":
        return phase === "comma" ? expect("entry", at + 1) : refuse(text);
      case ":":
        return phase === "colon" ? expect("value", at + 1) : refuse(text);
    }
    if (phase === "value") return beginValue(character, text, at);
    if (phase !== "first" && phase !== "entry") return refuse(text);
    if (document.isInArray) return beginValue(character, text, at);
    return character === '"' ? beginString("key", text, at + 1) : refuse(text);
  }

  function expect(next: Phase, at: number): number {
    phase = next;
    return at;
  }

  function beginValue(character: string, text: string, at: number): number {
    switch (character) {
      case '"':
        document.change();
        return beginString("string", text, at + 1);
      case "{":
        return open({}, text, at + 1);
      case "[":
        return open([], text, at + 1);
      default:
        return character < "a" ? readNumber(text, at) : readLiteral(text, at);
    }
  }

  function open(content: unknown[] | Record<string, unknown>, text: string, at: number): number {
    if (document.depth >= maxDepth) return refuse(text);
    document.open(content);
    return expect("first", at);
  }

  function close(bracket: string, text: string, at: number): number {
    if (document.depth === 0 || bracket !== (document.isInArray ? "]" : "}")) return refuse(text);
    document.close();
    return endValue(at + 1);
  }

  /** Begins a string or key. Most of them end in the same piece and have no escapes. */
  function beginString(next: "string" | "key", text: string, start: number): number {
    phase = next;
    const end = findSpecial(text, start);
    if (text.charCodeAt(end) === QUOTE) return endString(text.slice(start, end), end + 1);
    string.clear();
    return start;
  }

  /** Reads the next part of a string or key. */
  function readString(text: string, start: number): number {
    const at = findSpecial(text, start);
    if (at > start) grow(string.append(text.slice(start, at)));
    switch (text.charCodeAt(at)) {
      case QUOTE:
        grow(string.end());
        return endString(string.readable, at + 1);
      case BACKSLASH:
        return readEscape(text, at);
    }
    return at === text.length ? at : refuse(text);
  }

  function readEscape(text: string, start: number): number {
    const found = parseEscape(text, start);
    if (!found) return matchAt(OPEN_ESCAPE, text, start) ? wait(text, start) : refuse(text);
    grow(string.append(found.meaning));
    return start + found.length;
  }

  function grow(isLonger: boolean): void {
    if (isLonger && phase === "string") document.change();
  }

  function endString(whole: string, at: number): number {
    if (phase === "string") {
      document.add(whole);
      return endValue(at);
    }
    document.setKey(whole);
    return expect("colon", at);
  }

  function readNumber(text: string, at: number): number {
    const digits = matchAt(CLOSED_NUMBER, text, at)?.[1];
    if (digits !== undefined) return addUnseen(Number(digits), at + digits.length);
    if (!matchAt(OPEN_NUMBER, text, at)) return refuse(text);
    if (document.depth === 0) document.change();
    return wait(text, at);
  }

  function readLiteral(text: string, at: number): number {
    for (const [word, literal] of LITERALS) {
      if (text.startsWith(word, at)) return addUnseen(literal, at + word.length);
      if (word.startsWith(text.slice(at))) return wait(text, at);
    }
    return refuse(text);
  }

  /** Waits for the rest of a token. */
  function wait(text: string, start: number): number {
    tail = text.slice(start);
    return text.length;
  }

  /** Adds a complete value that no reading has shown in part. */
  function addUnseen(whole: unknown, at: number): number {
    document.change();
    document.add(whole);
    return endValue(at);
  }

  function endValue(at: number): number {
    return expect(document.depth > 0 ? "comma" : "end", at);
  }

  /** Returns the beginning of a value; a number at the top level may be the whole document. */
  function readPartial(): unknown {
    if (phase === "string") return string.readable;
    return isWholeNumber() ? Number(tail) : undefined;
  }

  function isWholeNumber(): boolean {
    return document.depth === 0 && WHOLE_NUMBER.test(tail);
  }

  /** Ends a malformed document and ignores the rest. The value stays unchanged. */
  function refuse(text: string): number {
    document.read(readPartial);
    return expect("malformed", text.length);
  }
}

/** Returns the index of the next quote, backslash or invalid character of a string; the text's length without one. */
function findSpecial(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE || code === BACKSLASH || code < SPACE) return at;
  }
  return text.length;
}

/** Matches a sticky pattern at an index. */
function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Returns the meaning of the escape at an index; undefined if it is incomplete or invalid. */
function parseEscape(text: string, at: number): { meaning: string; length: number } | undefined {
  const meaning = MEANINGS[text.charAt(at + 1)];
  if (meaning !== undefined) return { meaning, length: 2 };
  const [unit, digits = ""] = matchAt(CODE_UNIT, text, at) ?? [];
  return unit
    ? { meaning: String.fromCharCode(Number.parseInt(digits, 16)), length: unit.length }
    : undefined;
}
