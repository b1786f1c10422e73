import { ConfigurationError, toError } from "../types/errors.js";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** Globals that the client uses after it has sent a request. Without them, a paid response would be lost. */
const requiredGlobals = "AbortController TextDecoder TextEncoder URL performance queueMicrotask";

/**
 * Checks the platform and the option `signal`, in development, before the client sends anything.
 *
 * @throws {ConfigurationError} for a missing global and a wrong `signal`
 */
export function assertPlatform(options: { readonly signal?: object | undefined }): void {
  let problem: string | undefined;
  try {
    if (process.env.NODE_ENV !== "production") problem = findPlatformProblem(options);
  } catch {}
  if (problem) throw new ConfigurationError(problem);
}

function findPlatformProblem({ signal }: { readonly signal?: object | undefined }): string | undefined {
  const missing = requiredGlobals.split(" ").find((name) => !(name in globalThis));
  if (missing)
    return `this platform has no ${missing}: load a polyfill before the first import; nothing was sent`;
  return signal && !("aborted" in signal)
    ? "signal: must be an AbortSignal; give the `signal` of an AbortController"
    : undefined;
}

const TAKES_NO_REQUEST =
  "fetch: the function takes no Request: give `(request) => yourFetch(request.url, { … })`, as the guide for React Native shows";

/**
 * Checks that the app's `fetch` accepts a `Request`, in development.
 *
 * @throws {ConfigurationError} if it does not; nothing was sent
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
