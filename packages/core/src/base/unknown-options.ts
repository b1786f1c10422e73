import type { Issue } from "../vocabulary/errors.js";
import { didYouMean } from "./nearest.js";

/**
 * Returns an issue for each option that is not among the names, which are parted by spaces. `nested` has the names of
 * options within an option.
 *
 * @param of the functions that take the options; the first word begins each path
 */
export function unknownOptions(
  of: string,
  names: string,
  nested: Readonly<Record<string, string>>,
  options: object,
): Issue[] {
  return unknownIn(options, names, of.replace(/ .*/, ""));

  function unknownIn(given: object, names: string, path: string): Issue[] {
    const known = names.split(/\s+/);
    return Object.entries(given).flatMap(([name, value]) => {
      const own = `${path}.${name}`;
      const within = nested[name];
      if (!known.includes(name)) return value === undefined ? [] : issueOf(own, didYouMean(name, known));
      return within && typeof value === "object" && value ? unknownIn(value, within, own) : [];
    });
  }

  function issueOf(path: string, meant: string): Issue {
    return { path, message: `is no option of ${of}${meant}`, rule: "options.unknown" };
  }
}
