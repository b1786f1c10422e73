import { ConfigurationError, toError } from "../vocabulary/errors.js";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** Names that are used after a request has been sent: its answer would be paid and lost without them. */
const needed = "AbortController TextDecoder TextEncoder URL performance queueMicrotask";

/**
 * Checks that this platform can read a response, before anything is sent. Globals are checked in development: a
 * developer learns of a missing one, and bundlers drop the code.
 *
 * @throws {ConfigurationError} for a global that is missing, and for a prototype that changes JSON
 */
export function assertPlatform(): void {
  assertGlobals();
  // an old library may add it, and every list of a request would be sent as a text
  if (JSON.stringify([{}]) !== "[{}]")
    throw createPlatformError(
      "Array.prototype.toJSON or Object.prototype.toJSON changes all JSON: delete it",
    );
}

function assertGlobals(): void {
  try {
    if (process.env.NODE_ENV === "production") return;
  } catch {
    return;
  }
  const missing = needed.split(" ").find((name) => !(name in globalThis));
  if (missing)
    throw createPlatformError(`this platform has no ${missing}: load a polyfill before the first import`);
}

/**
 * Checks the option `signal`, in development.
 *
 * @throws {ConfigurationError}
 */
export function assertSignal(options: { readonly signal?: object | undefined }): void {
  try {
    if (process.env.NODE_ENV === "production") return;
  } catch {
    return;
  }
  if (options.signal && !("aborted" in options.signal))
    throw new ConfigurationError("signal: must be an AbortSignal; give the `signal` of an AbortController");
}

const TAKES_NO_REQUEST =
  "fetch: the function takes no Request: give `(request) => yourFetch(request.url, { … })`, as the guide for React Native shows";

/**
 * Checks that the app's own `fetch` failed for another reason than the form of its argument, in development.
 *
 * @throws {ConfigurationError} nothing was sent
 */
export function assertFetch(client: { readonly hasOwnFetch: boolean }, cause: unknown): void {
  try {
    if (process.env.NODE_ENV === "production") return;
  } catch {
    return;
  }
  if (client.hasOwnFetch && /\burl\b.* must be a string|\[object Request\]/i.test(toError(cause).message))
    throw new ConfigurationError(TAKES_NO_REQUEST, { cause });
}

/**
 * Checks that objects have no fields but their own, which schemas would take for fields of a request. Only in
 * development.
 *
 * @throws {ConfigurationError}
 */
export function assertCleanObjects(): void {
  try {
    if (process.env.NODE_ENV === "production") return;
  } catch {
    return;
  }
  for (const name in {})
    throw createPlatformError(
      `Object.prototype has the enumerable field "${name}": define it with enumerable: false`,
    );
}

function createPlatformError(problem: string): ConfigurationError {
  return new ConfigurationError(`${problem}; nothing was sent`);
}
