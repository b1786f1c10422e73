/**
 * Returns true for JSON with more than `max` values. They are counted before anything is built of them, because a small
 * value takes twenty times the memory of its characters. The parser finds invalid JSON.
 */
export function hasTooManyValues(json: string, max: number): boolean {
  // no value is shorter than a character
  if (json.length <= max) return false;
  let values = 1;
  for (let at = 0; at < json.length && values <= max; at += 1) {
    const character = json[at];
    if (character === '"') at = findStringEnd(json, at);
    else if (character === "," || character === "{" || character === "[") values += 1;
  }
  return values > max;
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

/** Returns true for lists and objects that are nested in more than `levels` levels. */
export function isTooDeep(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((entry) => isTooDeep(entry, levels - 1));
}
