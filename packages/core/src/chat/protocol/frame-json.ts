/** A frame with one text taken out. */
interface Template {
  /** JSON before the text, up to its opening quote. */
  readonly start: string;
  /** JSON after the text, from its closing quote on. */
  readonly end: string;
  /** Objects and arrays around the text, the whole frame first, each with the key that leads on. */
  readonly around: readonly Level[];
}

interface Level {
  readonly node: Readonly<Record<string, unknown>>;
  readonly key: string;
}

/** Text in place of a frame's own. It shows the place of the text in the value. */
const MARK = "\u2063mark\u2063";
/** Characters that stand for themselves in no JSON string. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones
const SPECIAL = /["\\\u0000-\u001f]/;
/** Length up to which an engine copies a part of a text. A longer part refers to the text, and holds the whole read. */
const SHORT = 12;
/** A quote that no backslash precedes: it ends a text. */
const QUOTE = /(?:^|[^\\])"/;
/** Checks that may fail: the templates of a stream of another kind are not looked for any longer. */
const MOST_FAILURES = 3;

/**
 * Creates a parser of a stream's frames. It returns what `parse` returns. The frames of a stream mostly differ in one
 * text: where all other JSON is the same as in an earlier frame, only this text is parsed.
 */
export function createFrameParser(parse: (json: string) => unknown): (json: string) => unknown {
  let template: Template | undefined;
  let last = "";
  let failures = 0;

  return (json) => {
    const frame = template && read(json, template);
    if (frame !== undefined) {
      last = "";
      return frame;
    }
    const parsed = parse(json);
    if (failures < MOST_FAILURES && typeof parsed === "object") learn(json, parsed);
    last = json;
    return parsed;
  };

  function read(json: string, { start, end, around }: Template): unknown {
    const from = start.length;
    const to = json.length - end.length;
    // slices are compared in one step; V8 compares `startsWith` character by character
    if (to < from || json.slice(0, from) !== start || json.slice(to) !== end) return undefined;
    const body = json.slice(from, to);
    const text = body.length > SHORT || SPECIAL.test(body) ? parse(`"${body}"`) : body;
    return typeof text === "string" ? withText(around, text) : undefined;
  }

  /** Makes a template of two frames in a row that differ in one text. */
  function learn(json: string, frame: unknown): void {
    const [start, end] = aroundDifference(last, json);
    if (end === "") return;
    const around = levelsAround(MARK, parse(start + MARK + end));
    const isMarked = around.length > 0 && levelsAround(MARK, frame).length === 0;
    if (isMarked) template = { start: copyOf(start), end: copyOf(end), around };
    else failures += 1;
  }
}

/** Copies a text, so that it does not hold the read that it was a part of. */
function copyOf(text: string): string {
  return JSON.parse(JSON.stringify(text));
}

/** Returns the JSON before and after the text in which two frames differ; nothing where they differ in more. */
function aroundDifference(one: string, other: string): [start: string, end: string] {
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

/** Finds a text in a value, and returns the levels around it; none where it is not there. */
function levelsAround(text: string, value: unknown): readonly Level[] {
  if (typeof value !== "object" || value === null) return [];
  const node = value as Level["node"];
  for (const [key, item] of Object.entries(node)) {
    if (item === text) return [{ node, key }];
    const inner = levelsAround(text, item);
    if (inner.length > 0) return [{ node, key }, ...inner];
  }
  return [];
}

/** Copies the value of the levels, with another text in its place. */
function withText(around: readonly Level[], text: unknown): unknown {
  let value = text;
  for (let depth = around.length - 1; depth >= 0; depth -= 1) {
    const { node, key } = around[depth] as Level;
    const copy = (Array.isArray(node) ? node.slice() : { ...node }) as Record<string, unknown>;
    copy[key] = value;
    value = copy;
  }
  return value;
}
