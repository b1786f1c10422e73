import { isWholeNumber, numberShapeAfter } from "./number.js";
import { createGrowingText } from "./text.js";

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

/** An array or object that is not closed yet. Its content grows in place, and readings get copies of it. */
interface Container {
  /** Content of an array. */
  readonly items: unknown[] | undefined;
  /** Content of an object. */
  readonly fields: Record<string, unknown>;
  readonly closing: number;
  readonly depth: number;
  readonly outer: Container | undefined;
  /** Key of the value that is being read. */
  key: string;
  /** Index of the value that is being read. */
  index: number;
  /** True if a key is `__proto__`, which an assignment would not copy. */
  hasProto: boolean;
  /** Copy that the last reading returned. */
  snapshot: unknown;
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const LITERALS = [
  ["true", true],
  ["false", false],
  ["null", null],
] as const;
/** A number with the character after it. */
const NUMBER = /(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)[^\d.eE+-]/y;
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
  let inner: Container | undefined;
  /** Result of the last reading; the value of the document once it is whole. */
  let root: unknown;
  /** True if the value has changed since the last reading. Then every open container has changed. */
  let changed = false;

  /** Reads one or more characters, and returns the index of the next one. */
  let read = readBetween;
  /** Reader of the next token outside strings, numbers and literals. */
  let expected = value;

  /** A string or key that began in an earlier piece. An open number or literal is in `token`, and is read character by character. */
  const text = createGrowingText();
  let underWay: "key" | "string" | "number" | undefined;
  let token = "";
  let shape = "";

  return {
    push(piece) {
      for (let at = 0; at < piece.length; ) at = read(piece, at);
    },
    get value() {
      if (changed) takeSnapshot();
      return root;
    },
    get state() {
      if (read === refuse) return "malformed";
      return expected === refuse || isWholeDocument() ? "complete" : "open";
    },
  };

  function takeSnapshot(): void {
    changed = false;
    root = underWay === "string" ? text.readable : isWholeDocument() ? Number(token) : undefined;
    for (let container = inner; container; container = container.outer) {
      if (root !== undefined) put(container, root);
      root = container.snapshot = copyOf(container);
    }
  }

  /**
   * Handles a number outside all containers. A number has no closing sign, so it may be the whole document or its
   * beginning.
   */
  function isWholeDocument(): boolean {
    return underWay === "number" && !inner && isWholeNumber(shape);
  }

  function readBetween(piece: string, start: number): number {
    let at = start;
    while (at < piece.length && read === readBetween) {
      const code = piece.charCodeAt(at);
      if (code > SPACE) at = expected(piece, at, code);
      else if (code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB) at += 1;
      else refuse(piece);
    }
    return at;
  }

  function value(piece: string, at: number, code: number): number {
    if (code === QUOTE) return beginText("string", piece, at + 1);
    if (code === OPENING_BRACE) return open(undefined, piece, at);
    if (code === OPENING_BRACKET) return open([], piece, at);
    return beginToken(piece, at);
  }

  function firstEntry(piece: string, at: number, code: number): number {
    return code === inner?.closing ? close(at) : entry(piece, at, code);
  }

  function entry(piece: string, at: number, code: number): number {
    if (inner?.items) return value(piece, at, code);
    return code === QUOTE ? beginText("key", piece, at + 1) : refuse(piece);
  }

  function colon(piece: string, at: number, code: number): number {
    if (code !== COLON) return refuse(piece);
    expected = value;
    return at + 1;
  }

  function commaOrEnd(piece: string, at: number, code: number): number {
    if (code === inner?.closing) return close(at);
    if (code !== COMMA) return refuse(piece);
    expected = entry;
    return at + 1;
  }

  /** Ends the document where it is malformed, and drops the rest. */
  function refuse(piece: string): number {
    read = refuse;
    return piece.length;
  }

  function open(items: unknown[] | undefined, piece: string, at: number): number {
    const depth = (inner?.depth ?? 0) + 1;
    if (depth > maxDepth) return refuse(piece);
    const closing = items ? CLOSING_BRACKET : CLOSING_BRACE;
    inner = {
      items,
      fields: {},
      closing,
      depth,
      outer: inner,
      key: "",
      index: 0,
      hasProto: false,
      snapshot: undefined,
    };
    expected = firstEntry;
    changed = true;
    return at + 1;
  }

  function close(at: number): number {
    const { items, fields, snapshot, outer } = inner as Container;
    inner = outer;
    give(changed ? (items ?? fields) : snapshot);
    return at + 1;
  }

  /** Ends a value. */
  function give(whole: unknown): void {
    underWay = undefined;
    read = readBetween;
    if (inner) {
      put(inner, whole);
      inner.index += 1;
      expected = commaOrEnd;
    } else {
      root = whole;
      changed = false;
      expected = refuse;
    }
  }

  /** Begins a number or literal. Most end in the same piece. */
  function beginToken(piece: string, at: number): number {
    const literal = LITERALS.find(([word]) => piece.startsWith(word, at));
    NUMBER.lastIndex = at;
    const number = literal ? undefined : NUMBER.exec(piece)?.[1];
    if (literal || number) {
      changed = true;
      give(literal ? literal[1] : Number(number));
      return at + (literal ? literal[0] : (number as string)).length;
    }
    token = "";
    shape = "";
    read = LITERALS.some(([word]) => word.startsWith(piece.charAt(at))) ? readLiteral : readNumber;
    return read(piece, at);
  }

  function readLiteral(piece: string, at: number): number {
    token += piece.charAt(at);
    const literal = LITERALS.find(([word]) => word.startsWith(token));
    if (!literal) return refuse(piece);
    if (literal[0] === token) {
      changed = true;
      give(literal[1]);
    }
    return at + 1;
  }

  function readNumber(piece: string, start: number): number {
    underWay = "number";
    let at = start;
    for (; at < piece.length; at += 1) {
      const next = numberShapeAfter(shape, piece.charAt(at));
      if (next === undefined) break;
      shape = next;
    }
    token += piece.slice(start, at);
    if (!inner) changed = true;
    if (at === piece.length) return at;
    if (!isWholeNumber(shape)) return refuse(piece);
    changed = true;
    give(Number(token));
    return at;
  }

  /** Begins a string or key. Most end in the same piece. */
  function beginText(what: "key" | "string", piece: string, start: number): number {
    underWay = what;
    if (what === "string") changed = true;
    for (let at = start; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (code === QUOTE) {
        giveText(piece.slice(start, at));
        return at + 1;
      }
      if (code === BACKSLASH || code < SPACE) break;
    }
    text.clear();
    read = readText;
    return start;
  }

  function readText(piece: string, start: number): number {
    let from = start;
    for (let at = start; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (code >= SPACE && code !== QUOTE && code !== BACKSLASH) continue;
      if (at > from) append(piece.slice(from, at));
      if (code === QUOTE) endText();
      else if (code !== BACKSLASH) refuse(piece);
      else {
        const meaning = at + 1 < piece.length ? MEANINGS[piece.charCodeAt(at + 1)] : undefined;
        if (meaning !== undefined) {
          append(meaning);
          at += 1;
          from = at + 1;
          continue;
        }
        read = readEscape;
      }
      return at + 1;
    }
    if (from < piece.length) append(piece.slice(from));
    return piece.length;
  }

  function readEscape(piece: string, at: number): number {
    const meaning = MEANINGS[piece.charCodeAt(at)];
    if (meaning !== undefined) endEscape(meaning);
    else if (piece.charAt(at) === "u") {
      token = "";
      read = readCodeUnit;
    } else refuse(piece);
    return at + 1;
  }

  function readCodeUnit(piece: string, at: number): number {
    const character = piece.charAt(at);
    token += character;
    if (!HEX_DIGIT.test(character)) refuse(piece);
    else if (token.length === 4) endEscape(String.fromCharCode(Number.parseInt(token, 16)));
    return at + 1;
  }

  function endEscape(meaning: string): void {
    append(meaning);
    read = readText;
  }

  function append(fragment: string): void {
    if (text.append(fragment) && underWay === "string") changed = true;
  }

  function endText(): void {
    if (text.end() && underWay === "string") changed = true;
    giveText(text.readable);
  }

  function giveText(whole: string): void {
    if (underWay === "string") return give(whole);
    (inner as Container).key = whole;
    read = readBetween;
    expected = colon;
  }
}

function put(container: Container, value: unknown): void {
  const { items, fields, key } = container;
  if (items) items[container.index] = value;
  else if (key === "__proto__") {
    container.hasProto = true;
    Object.defineProperty(fields, key, { value, writable: true, enumerable: true, configurable: true });
  } else fields[key] = value;
}

function copyOf({ items, fields, hasProto }: Container): unknown {
  if (items) return items.slice();
  // quicker than a spread, where objects have many shapes
  return hasProto ? { ...fields } : Object.assign({}, fields);
}
