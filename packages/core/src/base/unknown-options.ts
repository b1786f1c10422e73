import type { Issue } from "../types/errors.js";
import { formatSuggestion } from "./did-you-mean.js";

/** Advice by the names of options in other libraries. */
export type Advice = Readonly<Record<string, string>>;

/** The options that a function has. */
export interface KnownOptions {
  /** Their names, separated by spaces. */
  readonly names: string;
  /** Prefix of their paths. */
  readonly path: string;
  /** Names of the options within an option. */
  readonly nested?: Readonly<Record<string, string>>;
  /** Advice for names of other libraries. */
  readonly advice?: Advice;
}

/**
 * Returns an issue for each option of the functions `of` that is not in `names`, and for options that are not an
 * object.
 */
export function findUnknownOptions(
  of: string,
  { names, path, nested = {}, advice = {} }: KnownOptions,
  options: unknown,
): Issue[] {
  return findUnknown(options, names, path);

  function findUnknown(given: unknown, names: string, path: string): Issue[] {
    const known = names.split(/\s+/);
    if (typeof given !== "object" || given === null || Array.isArray(given))
      return [
        createIssue(
          path,
          `must be an object: { ${known.slice(0, 3).join(", ")}${known.length > 3 ? ", …" : ""} }`,
        ),
      ];
    return Object.entries(given).flatMap(([name, value]) => {
      const own = `${path}.${name}`;
      const within = nested[name];
      if (!known.includes(name)) return value === undefined ? [] : createUnknownIssue(own, name, known);
      return within === undefined || value === undefined || typeof value === "function"
        ? []
        : findUnknown(value, within, own);
    });
  }

  function createUnknownIssue(path: string, name: string, known: readonly string[]): Issue[] {
    const other = Object.hasOwn(advice, name) ? `; ${advice[name]}` : undefined;
    return [createIssue(path, `is no option of ${of}${other ?? formatSuggestion(name, known)}`)];
  }

  function createIssue(path: string, message: string): Issue {
    return { path, message, rule: "options.unknown" };
  }
}
