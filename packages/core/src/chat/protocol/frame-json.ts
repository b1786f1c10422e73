import { isRecord } from "../../transport/error-response.js";

/** A frame without one of its texts. */
interface Template {
  /** JSON before the text, up to its opening quote. */
  readonly start: string;
  /** JSON after the text, from its closing quote on. */
  readonly end: string;
  /** The frame as a value. */
  readonly frame: unknown;
  /** Location of the text in `frame`. */
  readonly location: Location;
  /** True if the JSON around the text names an error, so that the text may be its message. */
  readonly namesError: boolean;
}

interface Location {
  /** The object or array that has the text. */
  readonly node: Record<string, unknown>;
  readonly key: string;
}

/** Text in location of a frame's own. It shows the location of the text in the value. */
const MARK = "\u2063mark\u2063";
/** Characters that a JSON string has to escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones
const SPECIAL = /["\\\u0000-\u001f]/;
/** Length up to which engines copy a substring. A longer substring keeps the whole read in memory. */
const SHORT = 12;
/** A quote without a backslash before it. It ends a string. */
const QUOTE = /(?:^|[^\\])"/;
/** Number of failed checks after which the parser stops looking for templates: the stream has another format. */
const MAX_FAILURES = 3;

/** A parser of a stream's frames. */
export interface FrameParser {
  /** Returns the value of a frame. It is valid until the next call. */
  parse(json: string): unknown;
  /** True if the last frame matches the template and differs only in one text, and the template names no error. */
  readonly isAlike: boolean;
}

/**
 * Creates a parser of a stream's frames. Most frames of a stream differ in one text. If all other JSON equals that of
 * an earlier frame, it parses only this text and puts it into the value of that frame. So a value is valid until the
 * next call, which may change a text of `choices`.
 */
export function createFrameParser(parse: (json: string) => unknown): FrameParser {
  let template: Template | undefined;
  let last = "";
  let failures = 0;
  const frames = {
    isAlike: false,
    parse(json: string): unknown {
      const frame = template && read(json, template);
      frames.isAlike = frame !== undefined && !template?.namesError;
      if (frame !== undefined) {
        last = "";
        return frame;
      }
      const parsed = parse(json);
      if (failures < MAX_FAILURES && typeof parsed === "object") learn(json, parsed);
      last = json;
      return parsed;
    },
  };
  return frames;

  function read(json: string, { start, end, frame, location }: Template): unknown {
    const from = start.length;
    const to = json.length - end.length;
    // both compare at one location, without a copy. V8 compares `startsWith` character by character
    if (to < from || json.lastIndexOf(start, 0) !== 0 || json.indexOf(end, to) !== to) return undefined;
    const body = json.slice(from, to);
    const text = body.length > SHORT || SPECIAL.test(body) ? parse(`"${body}"`) : body;
    if (typeof text !== "string") return undefined;
    location.node[location.key] = text;
    return frame;
  }

  /** Creates a template from two consecutive frames that differ in one text. */
  function learn(json: string, frame: unknown): void {
    const [start, end] = splitAtDifference(last, json);
    if (end === "") return;
    const marked = parse(start + MARK + end);
    // only in `choices`: callers keep the objects of the usage
    const location = isRecord(marked) ? locate(MARK, marked.choices) : undefined;
    if (location && !locate(MARK, frame))
      template = {
        start: copyText(start),
        end: copyText(end),
        frame: marked,
        location,
        namesError: /error/.test(start + end),
      };
    else failures += 1;
  }
}

/** Copies a text, so that it does not keep the whole read in memory. */
function copyText(text: string): string {
  return JSON.parse(JSON.stringify(text));
}

/**
 * Returns the JSON before and after the text that differs between two frames; empty if they differ in more than one
 * text.
 */
function splitAtDifference(one: string, other: string): [start: string, end: string] {
  const length = Math.min(one.length, other.length);
  let before = 0;
  while (before < length && one[before] === other[before]) before += 1;
  let after = 1;
  while (after <= length - before && one.at(-after) === other.at(-after)) after += 1;
  const opening = other.lastIndexOf('"', before - 1);
  const closing = other.indexOf('"', other.length - after + 1);
  // parsing anything but a text would throw, which is slower than the rest of this function
  const isText = opening !== -1 && closing > opening && !QUOTE.test(other.slice(opening + 1, closing));
  return isText ? [other.slice(0, opening + 1), other.slice(closing)] : ["", ""];
}

/** Finds the location of a text in a value. */
function locate(text: string, value: unknown): Location | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const node = value as Location["node"];
  for (const [key, item] of Object.entries(node)) {
    const location = item === text ? { node, key } : locate(text, item);
    if (location) return location;
  }
  return undefined;
}
