import { isRecord } from "../../transport/error-response.js";

/** A frame with one text taken out. */
interface Template {
  /** JSON before the text, up to its opening quote. */
  readonly start: string;
  /** JSON after the text, from its closing quote on. */
  readonly end: string;
  /** The frame as a value. */
  readonly frame: unknown;
  /** Place of the text in it. */
  readonly location: Location;
  /** True if the JSON around the text names an error: the text may be its words. */
  readonly namesError: boolean;
}

interface Location {
  /** The object or array that has the text. */
  readonly node: Record<string, unknown>;
  readonly key: string;
}

/** Text in location of a frame's own. It shows the location of the text in the value. */
const MARK = "\u2063mark\u2063";
/** Characters that stand for themselves in no JSON string. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones
const SPECIAL = /["\\\u0000-\u001f]/;
/** Length up to which an engine copies a part of a text. A longer part refers to the text, and holds the whole read. */
const SHORT = 12;
/** A quote that no backslash precedes: it ends a text. */
const QUOTE = /(?:^|[^\\])"/;
/** Failed checks after which no more templates are sought: the stream is of another kind. */
const MAX_FAILURES = 3;

/** A parser of a stream's frames. */
export interface FrameParser {
  /** Returns what `JSON.parse` returns, or what stands in for it. The value is right until the next call. */
  parse(json: string): unknown;
  /** True if the last frame was like earlier ones but for one text of an answer, and none of them names an error. */
  readonly isAlike: boolean;
}

/**
 * Creates a parser of a stream's frames. It returns what `parse` returns. The frames of a stream mostly differ in one
 * text: where all other JSON is the same as in an earlier frame, only this text is parsed, and put into the value of
 * that frame. So a value is right until the next call, which may change a text of `choices`.
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
    // both look at one location only, without a copy; V8 compares `startsWith` character by character
    if (to < from || json.lastIndexOf(start, 0) !== 0 || json.indexOf(end, to) !== to) return undefined;
    const body = json.slice(from, to);
    const text = body.length > SHORT || SPECIAL.test(body) ? parse(`"${body}"`) : body;
    if (typeof text !== "string") return undefined;
    location.node[location.key] = text;
    return frame;
  }

  /** Makes a template of two frames in a row that differ in one text. */
  function learn(json: string, frame: unknown): void {
    const [start, end] = splitAtDifference(last, json);
    if (end === "") return;
    const marked = parse(start + MARK + end);
    // in `choices` only: the objects of the usage are kept
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

/** Copies a text, so that it does not hold the read that it was a part of. */
function copyText(text: string): string {
  return JSON.parse(JSON.stringify(text));
}

/** Returns the JSON before and after the text in which two frames differ; nothing where they differ in more. */
function splitAtDifference(one: string, other: string): [start: string, end: string] {
  const length = Math.min(one.length, other.length);
  let before = 0;
  while (before < length && one[before] === other[before]) before += 1;
  let after = 1;
  while (after <= length - before && one.at(-after) === other.at(-after)) after += 1;
  const opening = other.lastIndexOf('"', before - 1);
  const closing = other.indexOf('"', other.length - after + 1);
  // parsing what is no text would throw, which takes longer than all else here
  const isText = opening !== -1 && closing > opening && !QUOTE.test(other.slice(opening + 1, closing));
  return isText ? [other.slice(0, opening + 1), other.slice(closing)] : ["", ""];
}

/** Finds a text in a value; undefined where it is not there. */
function locate(text: string, value: unknown): Location | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const node = value as Location["node"];
  for (const [key, item] of Object.entries(node)) {
    const location = item === text ? { node, key } : locate(text, item);
    if (location) return location;
  }
  return undefined;
}
