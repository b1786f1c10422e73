/** A frame without its text. */
interface Template {
  /** JSON before the text, up to its opening quote. */
  readonly start: string;
  /** JSON after the text, from its closing quote on. */
  readonly end: string;
  /** The frame as a value. */
  readonly frame: unknown;
  /** Location of the text in `frame`. */
  readonly location: Location;
}

interface Location {
  /** The object that has the text. */
  readonly node: Fields;
  readonly key: string;
}

type Fields = Record<string, unknown>;

/** The part of a frame that may have a text. */
interface Frame {
  readonly choices?: readonly {
    readonly delta?: Fields & { readonly tool_calls?: readonly { readonly function?: Fields }[] };
  }[];
}

/** A text that no gateway sends. It shows the location of a text in the JSON. */
const MARK = "\u2063mark\u2063";
/** Characters that a JSON string has to escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones
const SPECIAL = /["\\\u0000-\u001f]/;
/** Length up to which engines copy a substring. A longer substring keeps its whole network chunk in memory. */
const SHORT = 12;
/** Number of frames before the first template. It pays off after about 20 more frames, so a short response needs none. */
const FIRST_FRAMES = 20;
/** Number of templates in a row without a use after which the parser creates no more: the frames have another format. */
const MAX_UNUSED = 10;

/** A parser of a stream's frames. */
export interface FrameParser {
  /** Returns the value of a frame. It is valid until the next call. */
  parse(json: string): unknown;
  /** True if the last frame differs from an earlier one only in the text of its delta, so it needs no check for errors. */
  readonly isAlike: boolean;
}

/**
 * Creates a parser of a stream's frames. Most frames of a stream differ only in the text of the delta. If all other JSON
 * equals that of an earlier frame, it parses only this text and puts it into the value of that frame. So a value is valid
 * until the next call, which may change a text of `choices`.
 */
export function createFrameParser(parse: (json: string) => unknown): FrameParser {
  let template: Template | undefined;
  let unused = 0;
  let parsedFrames = 0;
  const frames = {
    isAlike: false,
    parse(json: string): unknown {
      const frame = template && read(json, template);
      frames.isAlike = frame !== undefined;
      if (frame === undefined) return learn(json);
      unused = 0;
      return frame;
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

  /** Parses a frame, and creates a template from it if its JSON has the text once. */
  function learn(json: string): unknown {
    const parsed = parse(json);
    parsedFrames += 1;
    const found = parsedFrames > FIRST_FRAMES && unused < MAX_UNUSED && locateText(parsed);
    if (!found) return parsed;
    unused += 1;
    const [before, after, ...others] = json.split(JSON.stringify(found.node[found.key]));
    if (after === undefined || others.length > 0) return parsed;
    const start = copyText(`${before}"`);
    const end = copyText(`"${after}`);
    const frame = parse(start + MARK + end);
    const location = locateText(frame);
    // the text may be escaped differently, and its plain form may occur elsewhere
    if (location?.node[location.key] === MARK) template = { start, end, frame, location };
    return parsed;
  }
}

/** Copies a text into one piece. A part of a read keeps the whole read in memory, and is slower to compare with. */
function copyText(text: string): string {
  return JSON.parse(JSON.stringify(text));
}

/** Finds the text of a frame. */
function locateText(frame: unknown): Location | undefined {
  const delta = (frame as Frame | undefined)?.choices?.[0]?.delta;
  const locations = [
    { node: delta, key: "content" },
    { node: delta, key: "reasoning_content" },
    { node: delta?.tool_calls?.[0]?.function, key: "arguments" },
  ];
  return locations.find(({ node, key }) => node?.[key] && typeof node[key] === "string") as
    | Location
    | undefined;
}
