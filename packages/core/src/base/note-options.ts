import { ConfigurationError, type Issue, isGatewayError } from "../types/errors.js";
import { findNearest, formatSuggestion } from "./did-you-mean.js";
import { createLazyModule } from "./lazy-module.js";
import type { OptionsOwner } from "./option-names.js";

/*
 * Help for developers. Each function tests `process.env.NODE_ENV` itself, because bundlers replace the expression in
 * place and then drop the dead code with its imports. A page without a bundler lacks `process` and gets no help.
 */
declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** The fields of a client that warnings need. */
interface Warner {
  /** Emits a warning. */
  readonly warn: (issue: Issue) => void;
}

/**
 * Warns about unknown and unusable options, asynchronously and once for each path. A misspelled option has no effect,
 * and only TypeScript would report it. Does nothing in production.
 *
 * @throws {ConfigurationError} if `createClient` did not create `client`
 * @example
 * ```ts
 * noteOptions("createUploadStore", { use: "reference_image" }, client);
 * ```
 */
export function noteOptions(functionName: OptionsOwner, options: unknown, client: Warner): void {
  assertClient(client);
  noteUnknownOptions(functionName, options, client);
}

/** Kept after the first load, because `import()` of a loaded module takes longer than the check. */
const optionNames = /* @__PURE__ */ createLazyModule(() => import("./option-names.js"));

/** Warns about unknown and unusable options, for a caller without a client. Does nothing in production. */
export function noteUnknownOptions(functionName: OptionsOwner, options: unknown, client: Warner): void {
  try {
    if (process.env.NODE_ENV !== "production")
      optionNames
        .load()
        .then(({ warnOfOptions }) => warnOfOptions(functionName, options, client.warn))
        .catch(() => {});
  } catch {}
}

/**
 * Checks the first argument of a function, which is easy to forget. Does nothing in production.
 *
 * @throws {ConfigurationError}
 */
export function assertClient(client: Warner | undefined): void {
  try {
    if (process.env.NODE_ENV === "production") return;
  } catch {
    return;
  }
  if (typeof client?.warn !== "function")
    throw new ConfigurationError("the first argument must be a client made by createClient()");
}

/** Adds advice to the error of a rejected request, in development. Never rejects. */
export function explain(error: unknown, request: unknown): Promise<void> | undefined {
  try {
    if (process.env.NODE_ENV !== "production" && isGatewayError(error) && error.name === "ValidationError")
      return import("./request-hints.js").then(({ addHints }) => addHints(error, request)).catch(() => {});
  } catch {}
}

/** Prints a warning, but not in production or with `onEvent`. */
export function print(issue: Issue, options?: { readonly onEvent?: unknown }): void {
  try {
    if (process.env.NODE_ENV !== "production" && !options?.onEvent)
      import("./print-warning.js").then(({ printWarning }) => printWarning(issue)).catch(() => {});
  } catch {}
}

/**
 * Prints an error of a store's state that a developer has to fix. Not in production or with `onEvent`.
 *
 * @example
 * ```ts
 * noteMistake(new ConfigurationError("id: is missing"), client);
 * ```
 */
export function noteMistake(
  error: unknown,
  {
    hasOnEvent,
  }: {
    /** True if the app reads the events: nothing is printed then. */
    readonly hasOnEvent: boolean;
  },
): void {
  try {
    if (process.env.NODE_ENV !== "production" && isGatewayError(error) && !hasOnEvent)
      import("./print-warning.js").then(({ printMistake }) => printMistake(error)).catch(() => {});
  } catch {}
}

/** Warns about a stored response if the client lacks `resume`: a lost connection would end it. Not in production. */
export function noteStored(response: Response, client: Warner): void {
  try {
    if (process.env.NODE_ENV !== "production" && response.headers.has("x-stream-id"))
      client.warn({
        path: "createClient.resume",
        message:
          "is missing, and the proxy stores responses: a lost connection ends them here; give streamResumption()",
        rule: "options.resume",
      });
  } catch {}
}

/** Suggests the entry of `known` that `given` probably means. Not in production. */
export function addHint(issue: { message: string }, given: unknown, known: readonly string[]): void {
  try {
    if (process.env.NODE_ENV !== "production" && typeof given === "string")
      issue.message += formatSuggestion(given, known);
  } catch {}
}

/** Suggests a misspelled field for the `issue` of a missing field. Not in production. */
export function addMisspellingHint(issue: { message: string }, missing: MissingField): void {
  try {
    if (process.env.NODE_ENV !== "production" && !missing.message && missing.input === undefined) {
      const { input: parent, key } = missing.path?.at(-1) ?? {};
      const name = findNearest(String(key), Object.keys(parent ?? {}));
      if (name) issue.message += `; did you misspell it as \`${name}\`?`;
    }
  } catch {}
}

/** The fields of a valibot issue that identify a missing field. */
interface MissingField {
  readonly message: string;
  readonly input: unknown;
  readonly path?: readonly { readonly input: unknown; readonly key: unknown }[] | undefined;
}
