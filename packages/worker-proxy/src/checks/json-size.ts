/** Bounds of JSON. */
export interface JSONSize {
  readonly values: number;
  readonly levels: number;
}

/**
 * Counts values and depth outside of strings before anything is built of them, because a small value takes twenty times
 * its letters of memory. Returns the bound that is passed. The parser finds invalid JSON.
 */
export function findExcess(json: string, most: JSONSize): keyof JSONSize | undefined {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const letter = json[at];
    if (letter === '"') at = findStringEnd(json, at);
    else if (letter === "}" || letter === "]") depth -= 1;
    else if (letter === "," || letter === "{" || letter === "[") {
      values += 1;
      if (letter !== ",") depth += 1;
      if (values > most.values) return "values";
      if (depth > most.levels) return "levels";
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
