import {
  ConfigurationError,
  type Issue,
  isGatewayError,
  type ValidationError,
} from "../vocabulary/errors.js";
import type { WithOptions } from "./option-names.js";
import { inProduction } from "./production.js";
import type { ReplacedClient } from "./use-hints.js";

/** The part of a client that warnings need. */
interface Warner {
  /** Emits a warning. */
  readonly warn: (issue: Issue) => void;
}

/**
 * Warns of options that a function does not know or can't use, a moment later and once for each path: a misspelt option
 * has no effect, and only TypeScript would tell of it. In production it only checks the client.
 *
 * @throws {ConfigurationError} where `client` was not made by `createClient`
 */
export function noteOptions(of: WithOptions, options: unknown, client: Warner): void {
  assertClient(client);
  if (!inProduction())
    import("./option-names.js")
      .then(({ warnOfOptions }) => warnOfOptions(of, options, client.warn))
      .catch(() => {});
}

/**
 * Checks the first argument of a function, because it is easily forgotten.
 *
 * @throws {ConfigurationError}
 */
export function assertClient(client: Warner | undefined): void {
  if (typeof client?.warn !== "function")
    throw new ConfigurationError("the first argument must be a client made by createClient()");
}

/** Adds to a refused request what to write instead, in development, where that is known. Never rejects. */
export async function explain(error: ValidationError, request: unknown): Promise<void> {
  if (!inProduction())
    await import("./request-hints.js").then(({ addHints }) => addHints(error, request)).catch(() => {});
}

/** Prints a warning, but not in production. */
export function print(issue: Issue): void {
  if (!inProduction())
    import("./print-warning.js").then(({ printWarning }) => printWarning(issue)).catch(() => {});
}

/**
 * Warns if two subscribers of one chat have different models, because each one sends with its own. Not in production.
 *
 * @returns a function that notes the end of the subscription
 */
export function noteModel(
  client: Warner,
  id: string | undefined,
  read: () => { readonly model: string },
): () => void {
  let isOver = false;
  if (id !== undefined && !inProduction())
    import("./use-hints.js")
      .then(({ compareModels }) => compareModels(client, id, { read, isOver: () => isOver }))
      .catch(() => {});
  return () => {
    isOver = true;
  };
}

/** Warns if a new client replaces one like it: a component has probably created both. Not in production. */
export function noteReplacedClient(before: ReplacedClient, client: ReplacedClient): void {
  if (before !== client && !inProduction())
    import("./use-hints.js").then(({ compareClients }) => compareClients(before, client)).catch(() => {});
}

/** Prints an error that a store keeps in its state, if a developer made the mistake; not in production or with `onEvent`. */
export function noteMistake(error: unknown, { hasOnEvent }: { readonly hasOnEvent: boolean }): void {
  if (isGatewayError(error) && !hasOnEvent && !inProduction())
    import("./print-warning.js").then(({ printMistake }) => printMistake(error)).catch(() => {});
}
