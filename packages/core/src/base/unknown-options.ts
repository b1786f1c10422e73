import type { Issue } from "../types/errors.js";
import { formatSuggestion } from "./did-you-mean.js";

/** Advice by the names of options in other libraries. */
export type Advice = Readonly<Record<string, string>>;

/** The options that a function has. */
export interface KnownOptions {
  /** Names of the options, separated by spaces. */
  readonly names: string;
  /** Prefix of the issues' paths. */
  readonly path: string;
  /** Names of the options within an option. */
  readonly nested?: Readonly<Record<string, string>>;
  /** Advice for names of other libraries. */
  readonly advice?: Advice;
}

/**
 * Returns an issue for each option that is not in `names`, and for options that are not an object.
 *
 * @param functionName name of the function in messages
 */
export function findUnknownOptions(
  functionName: string,
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
      const optionPath = `${path}.${name}`;
      const nestedNames = nested[name];
      if (value === undefined) return [];
      if (!known.includes(name)) return createUnknownIssue(optionPath, name, known);
      if (nestedNames === undefined || typeof value === "function") return [];
      return findUnknown(value, nestedNames, optionPath);
    });
  }

  function createUnknownIssue(path: string, name: string, known: readonly string[]): Issue[] {
    const help = Object.hasOwn(advice, name) ? `; ${advice[name]}` : formatSuggestion(name, known);
    return [createIssue(path, `is not an option of ${functionName}${help}`)];
  }

  function createIssue(path: string, message: string): Issue {
    return { path, message, rule: "options.unknown" };
  }
}
