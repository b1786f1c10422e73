import { isWholeNumber, numberShapeAfter } from "./number.js";
import { createGrowingText } from "./text.js";

/**
 * A JSON document that arrives in pieces, readable at any time.
 *
 * While the document is open, a text has all characters so far, but never half an escape or half a surrogate pair. A
 * number or literal appears once it is whole. An object has a key once its value has begun. The final value equals that
 * of `JSON.parse`.
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
  /** Most arrays and objects that may be open inside each other. One more is malformed. @default 500 */
  readonly maxDepth?: number;
}

/** An array or object that is not closed yet. */
interface Container {
  /** Grows in place. It is returned only after it is closed; until then, readings get copies. */
  readonly content: Record<PropertyKey, unknown> | unknown[];
  readonly closing: "]" | "}";
  readonly depth: number;
  readonly outer: Container | undefined;
  /** Key or index of the value that is being read. */
  key: PropertyKey;
  /** Copy that the last reading returned. */
  snapshot?: unknown;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const WHITESPACE = " \n\r\t";
const LITERALS = ["true", "false", "null"];
const HEX_DIGIT = /[\da-f]/i;
/** Characters after a backslash; `MEANINGS` has the character that each one stands for, at the same index. */
const ESCAPES = '"\\/bfnrt';
const MEANINGS = '"\\/\b\f\n\r\t';

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

  /** The open string or key. An open number or literal is in `token`, and is read character by character. */
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
      if (read === refuseRest) return "malformed";
      return expected === nothing || isWholeDocument() ? "complete" : "open";
    },
  };

  function takeSnapshot(): void {
    changed = false;
    root = underWay === "string" ? text.readable : isWholeDocument() ? Number(token) : undefined;
    for (let container = inner; container; container = container.outer) {
      if (root !== undefined) put(container, root);
      root = container.snapshot = copyOf(container.content);
    }
  }

  /**
   * Handles a number outside all containers. A number has no closing sign, so it may be the whole document or its
   * beginning.
   */
  function isWholeDocument(): boolean {
    return underWay === "number" && !inner && isWholeNumber(shape);
  }

  function readBetween(piece: string, at: number): number {
    const character = piece.charAt(at);
    if (piece.charCodeAt(at) > SPACE || !WHITESPACE.includes(character)) expected(character);
    return at + 1;
  }

  function value(character: string): void {
    if (character === "{") open({}, "}");
    else if (character === "[") open([], "]");
    else if (character === '"') {
      beginText("string");
      changed = true;
    } else beginToken(character);
  }

  function firstEntry(character: string): void {
    if (character === inner?.closing) close();
    else entry(character);
  }

  function entry(character: string): void {
    if (inner?.closing === "]") value(character);
    else if (character === '"') beginText("key");
    else refuse();
  }

  function colon(character: string): void {
    if (character === ":") expected = value;
    else refuse();
  }

  function commaOrEnd(character: string): void {
    if (character === inner?.closing) close();
    else if (character === ",") expected = entry;
    else refuse();
  }

  /** Ends the document. */
  function nothing(): void {
    refuse();
  }

  function refuse(): void {
    read = refuseRest;
  }

  function refuseRest(piece: string): number {
    return piece.length;
  }

  function open(content: Container["content"], closing: Container["closing"]): void {
    const depth = (inner?.depth ?? 0) + 1;
    if (depth > maxDepth) return refuse();
    inner = { content, closing, depth, outer: inner, key: 0 };
    expected = firstEntry;
    changed = true;
  }

  function close(): void {
    const { content, snapshot, outer } = inner as Container;
    inner = outer;
    give(changed ? content : snapshot);
  }

  /** Ends a value. */
  function give(whole: unknown): void {
    underWay = undefined;
    read = readBetween;
    if (inner) {
      put(inner, whole);
      if (Array.isArray(inner.content)) inner.key = inner.content.length;
      expected = commaOrEnd;
    } else {
      root = whole;
      changed = false;
      expected = nothing;
    }
  }

  function beginToken(character: string): void {
    token = "";
    shape = "";
    read = LITERALS.some((literal) => literal.startsWith(character)) ? readLiteral : readNumber;
    read(character, 0);
  }

  function readLiteral(piece: string, at: number): number {
    token += piece.charAt(at);
    const literal = LITERALS.find((word) => word.startsWith(token));
    if (literal === undefined) refuse();
    else if (literal === token) {
      changed = true;
      give(JSON.parse(token));
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
    if (at < piece.length) endNumber();
    return at;
  }

  function endNumber(): void {
    if (!isWholeNumber(shape)) return refuse();
    changed = true;
    give(Number(token));
  }

  function beginText(what: "key" | "string"): void {
    underWay = what;
    text.clear();
    read = readText;
  }

  function readText(piece: string, start: number): number {
    let at = start;
    let code = QUOTE;
    for (; at < piece.length; at += 1) {
      code = piece.charCodeAt(at);
      if (code === QUOTE || code === BACKSLASH || code < SPACE) break;
    }
    if (at > start) append(piece.slice(start, at));
    if (at === piece.length) return at;
    if (code === QUOTE) endText();
    else if (code === BACKSLASH) read = readEscape;
    else refuse();
    return at + 1;
  }

  function readEscape(piece: string, at: number): number {
    const character = piece.charAt(at);
    const meaning = MEANINGS.charAt(ESCAPES.indexOf(character));
    if (meaning !== "") endEscape(meaning);
    else if (character === "u") {
      token = "";
      read = readCodeUnit;
    } else refuse();
    return at + 1;
  }

  function readCodeUnit(piece: string, at: number): number {
    const character = piece.charAt(at);
    token += character;
    if (!HEX_DIGIT.test(character)) refuse();
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
    if (underWay === "string") return give(text.readable);
    if (inner) inner.key = text.readable;
    read = readBetween;
    expected = colon;
  }
}

function put({ content, key }: Container, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(content, key, { value, writable: true, enumerable: true, configurable: true });
  else (content as Record<PropertyKey, unknown>)[key] = value;
}

function copyOf(content: Container["content"]): unknown {
  return Array.isArray(content) ? content.slice() : { ...content };
}
