import { SHORTEST_KEY } from "../gateway/key.js";

/** Deepest nesting that is searched; deeper JSON is treated as if it contained a key. The spec's responses have fewer than ten levels. */
const DEEPEST = 100;
/** Maximum number of paths with a stored beginning of a key. */
const MAX_PATHS = 1000;

/**
 * Creates a search for whole keys, nothing less: in texts, and in the names and the decoded strings of JSON values. A
 * key that is split over several values is found where each part ends one string and the next part begins the string
 * at the same path of the next value, as in the deltas of a stream.
 *
 * @returns a function that returns true for a text or a JSON value with a key in it; `path` is a path into JSON
 */
export function openKeyWatch(keys: readonly string[]) {
  const sought = keys.filter((key) => key.length >= SHORTEST_KEY);
  /** The beginning of a key at the end of the last string, by path. */
  const begun = new Map<string, string>();
  return (value: unknown, path = "") => sought.length > 0 && containsKey(value, path);

  function containsKey(value: unknown, path: string, depth = 0): boolean {
    if (typeof value === "string") return findInText(value, path);
    if (typeof value !== "object" || value === null) return false;
    if (depth === DEEPEST) return true;
    if (Array.isArray(value))
      return value.some((entry, at) => containsKey(entry, `${path}/${entry?.index ?? at}`, depth + 1));
    for (const [name, entry] of Object.entries(value))
      if (hasWholeKey(name) || containsKey(entry, `${path}/${name}`, depth + 1)) return true;
    return false;
  }

  function findInText(text: string, path: string): boolean {
    const before = begun.size > 0 ? (begun.get(path) ?? "") : "";
    const whole = before + text;
    if (hasWholeKey(whole)) return true;
    const beginning = findBeginning(whole);
    if (beginning === before) return false;
    begun.delete(path);
    if (begun.size < MAX_PATHS && beginning !== "") begun.set(path, beginning);
    return false;
  }

  function hasWholeKey(text: string): boolean {
    return sought.some((key) => text.includes(key));
  }

  function findBeginning(text: string): string {
    let longest = "";
    for (const key of sought) {
      const [first = ""] = key;
      let at = text.indexOf(first, Math.max(0, text.length - key.length + 1));
      while (at !== -1 && !key.startsWith(text.slice(at))) at = text.indexOf(first, at + 1);
      if (at !== -1 && text.length - at > longest.length) longest = text.slice(at);
    }
    return longest;
  }
}
