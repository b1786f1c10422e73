/** Bounds of JSON. */
export interface JSONSize {
  readonly values: number;
  readonly levels: number;
}

/**
 * Counts values and depth outside of strings before anything is built of them, because a small value takes twenty times
 * the memory of its characters. Returns the bound that is exceeded. The parser finds invalid JSON.
 */
export function findExcess(json: string, max: JSONSize): keyof JSONSize | undefined {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') at = findStringEnd(json, at);
    else if (character === "}" || character === "]") depth -= 1;
    else if (character === "," || character === "{" || character === "[") {
      values += 1;
      if (character !== ",") depth += 1;
      if (values > max.values) return "values";
      if (depth > max.levels) return "levels";
    }
  }
  return undefined;
}

/** Returns the position of the quote that ends a string; the last position if the string does not end. */
function findStringEnd(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let before = end - 1;
    while (json[before] === "\\") before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return json.length - 1;
}
