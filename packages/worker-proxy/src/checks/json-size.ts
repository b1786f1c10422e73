/** Bounds of JSON. */
export interface JSONSize {
  readonly values: number;
  readonly levels: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
// `{` and `}` are these with one more bit
const OPEN = 0x5b;
const CLOSE = 0x5d;
const BRACE = 0x20;

/**
 * Counts values and depth outside of strings before anything is built of them, because a small value takes twenty times
 * its letters of memory. Returns the bound that is passed. The parser finds invalid JSON.
 */
export function findExcess(json: string, most: JSONSize): keyof JSONSize | undefined {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const letter = json.charCodeAt(at);
    if (letter === QUOTE) at = findStringEnd(json, at);
    else if (letter === COMMA) values += 1;
    else if ((letter & ~BRACE) === OPEN) {
      values += 1;
      depth += 1;
      if (depth > most.levels) return "levels";
    } else if ((letter & ~BRACE) === CLOSE) depth -= 1;
    else continue;
    if (values > most.values) return "values";
  }
  return undefined;
}

/** The place of the quote that ends a string; the last letter where there is none. */
function findStringEnd(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let before = end - 1;
    while (json.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return json.length - 1;
}
