import { type Clock, systemClock } from "./base/clock.js";
import { hashToId } from "./base/equality.js";
import { isolate } from "./base/isolate.js";
import { noteUnknownOptions, print } from "./base/note-options.js";
import { BASE_URL, explainKey, explainOptions, isBrowser } from "./client-checks.js";
import type { MediaUploader } from "./media-uploader.js";
import { type HeadersInput, readHeaders } from "./transport/headers.js";
import type { Connection, Credentials, RetryOptions, Timeout } from "./transport/send.js";
import type { AssetLookup } from "./types/asset.js";
import { ConfigurationError, type Issue, isGatewayError } from "./types/errors.js";
import type { CallInfo, ClientEvent } from "./types/events.js";
import type { VideoTaskParser } from "./types/video-task.js";

/**
 * The gateway's address, headers and settings: the first argument of every function that sends a request.
 * `createClient` creates it. Frozen. No field contains the key, so it is safe to log.
 */
export interface Client extends Connection {
  /** True if the app has an `onEvent`. The client then prints nothing. */
  readonly hasOnEvent: boolean;
  /** The user whose data this client stores; undefined without the option. */
  readonly user: string | undefined;
  /** How this deployment of the gateway differs. */
  readonly gateway: GatewayOptions;
  /** Uploads the files of requests; undefined without the option. */
  readonly uploads: MediaUploader | undefined;
  /** Listeners for the events of this client and of its copies. `subscribeToEvents` adds one. */
  readonly listeners: Set<(event: ClientEvent) => unknown>;
  /** Resumes responses that a proxy stores; undefined without the option. */
  readonly resume: StreamResumption | undefined;
}

/** The value of the option `resume` of `createClient`: `streamResumption()` creates it. */
export interface StreamResumption {
  /** Opens the bytes of one response; only `streamChat` and `resumeChat` call it. */
  readonly open: (response: never) => unknown;
}

/** How a deployment of the gateway differs from its interface: the option `gateway` of `createClient`. */
export interface GatewayOptions {
  /** Lookup of an asset; `getAsset` and `watchAsset` need it, because the interface has none. */
  readonly assetLookup?: AssetLookup | undefined;
  /**
   * Parses the response of a video query, for a gateway whose responses the built-in `parseVideoTask` cannot read. Call
   * the built-in function for all other responses.
   *
   * @default parseVideoTask
   */
  readonly parseVideoTask?: VideoTaskParser | undefined;
  /**
   * Requests the usage of each stream: `stream_options.include_usage`, unless a request sets it. `true` requests it
   * from every model, for gateways that report a stream's usage only on request, like OpenAI. `false` never requests
   * it.
   *
   * @default only `alpha-v4.1-flash`, the model for which the interface lists the field
   */
  readonly includeUsage?: boolean | undefined;
}

/** Options of `createClient`. Only `baseURL` is required. */
export interface ClientOptions {
  /**
   * Address of the gateway, or of the proxy in front of it: `https://gateway.example.com`. A trailing `/v1` is
   * accepted. A path on the page's server (`/api`) is resolved at the first request, so a server can also create the
   * client.
   */
  readonly baseURL: string;
  /**
   * API key, or a function that returns it, called for each request. Not for browsers: use the Worker proxy.
   * `undefined` is an error, because it usually comes from a missing environment variable. Leave the option out if a
   * proxy adds the key.
   */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined;
  /**
   * Headers of every request, for example to authenticate with a proxy. A function runs once for each request, before
   * its first attempt. It gets the identity of the request and its call, for example to send the `traceparent` of the
   * call's span. It does not get the body.
   *
   * @example
   * ```ts
   * const client = createClient({
   *   baseURL: "/api",
   *   headers: ({ callId = "" }) => ({ "x-call-id": callId }),
   * });
   * ```
   */
  readonly headers?: HeadersInput | ((request: CallInfo) => HeadersInput | Promise<HeadersInput>) | undefined;
  /** Passed to `fetch` as `credentials`: decides if cookies are sent. */
  readonly credentials?: Credentials | undefined;
  /**
   * The user whose chats, tasks and drafts this client stores in the browser: the id of the signed-in user, as the
   * proxy's `authenticate` returns it. It is part of the name of every lock, channel and collection, so that two users
   * of one browser never see each other's data. Without an `apiKey`, each request carries a hash of it in the header
   * `x-sluice-user`. The proxy rejects a page of another user with a 409 `user_mismatch`. Any text except an empty one.
   * Create another client for another user.
   *
   * @default none: all users of this browser share the stored data
   */
  readonly user?: string | undefined;
  /**
   * Replacement for the global `fetch`: the emulator, a Worker's service binding, a test. It gets a `Request`. The body
   * of its response is a stream of bytes, which no other code may read. `standardFetch` adapts a `fetch` with other
   * bodies.
   *
   * @default globalThis.fetch
   */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** Time limits of every request; a request may have its own. */
  readonly timeout?: Timeout | undefined;
  /** Retries of every request; a request may have its own. */
  readonly retry?: RetryOptions | undefined;
  /**
   * Sends an `idempotency-key` with each request that may be billed. A proxy with `resumableStreams()` or `idempotency()` recognizes a
   * repeated request by its key. Set it to false for a proxy on another origin whose CORS rules do not allow the
   * header.
   *
   * @default true without `apiKey`, false with one
   */
  readonly idempotencyKeys?: boolean | undefined;
  /** How this deployment of the gateway differs from its interface. */
  readonly gateway?: GatewayOptions | undefined;
  /**
   * Checks and uploads the files of requests: `uploads()` of `@sluice/media`. Without it, a `File` or `Blob` instead of
   * an address is an error.
   *
   * @default none
   */
  readonly uploads?: MediaUploader | undefined;
  /**
   * Resumes a stored response after a lost connection or a reload: `streamResumption()`. Without it, the response ends
   * as `truncated`.
   *
   * @default none
   */
  readonly resume?: StreamResumption | undefined;
  /**
   * Receives the steps of each call and the warnings, for logs and metrics. It runs before the listeners of
   * `subscribeToEvents`. Its errors are reported as uncaught and change nothing. Without this option, development
   * builds print each warning once per rule and path, and store errors that a mistake in the code or the setup caused.
   * Warnings about a request or a response are emitted only in development.
   */
  readonly onEvent?: ((event: ClientEvent) => void) | undefined;
  /** Clock of all waits, for tests. @default systemClock */
  readonly clock?: Clock | undefined;
  /**
   * Returns numbers from 0 (included) to 1 (excluded) for the jitter of waits. For tests.
   *
   * @default Math.random
   */
  readonly random?: (() => number) | undefined;
  /**
   * Allows an API key in a browser, where every visitor can read it. Only for private tools.
   *
   * @default false
   */
  readonly dangerouslyAllowBrowser?: boolean | undefined;
}

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** Largest number of keys that a client remembers to redact them. It drops the oldest key first. */
const MAX_KEYS = 1000;

/**
 * Creates the client, the first argument of every function. It holds no connection and is never closed.
 *
 * @throws {ConfigurationError} for an invalid option. The message names the option and, in development, the fix
 * @example
 * ```ts
 * const client = createClient({ baseURL: "https://gateway.example.com", apiKey: process.env.GATEWAY_API_KEY });
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const listeners: Client["listeners"] = new Set();
  if (options?.onEvent) listeners.add((event) => void options.onEvent?.(event));
  // runs before the checks below: a misspelled `baseURL` would be reported as missing
  noteUnknownOptions("createClient", options, { warn });
  try {
    if (process.env.NODE_ENV !== "production") explainOptions(options);
  } catch (error) {
    // a page without a bundler lacks `process`
    if (isGatewayError(error)) throw error;
  }
  assertUsable("baseURL", BASE_URL.test(options?.baseURL));
  const { apiKey, credentials, timeout = {}, retry, user, clock = systemClock } = options;
  const baseURL = options.baseURL.trim().replace(/(?:\/+|(?:\/v1)+\/*)$/, "");
  assertUsable("user", user === undefined || (user && typeof user === "string"));
  assertUsable("apiKey", apiKey === undefined || !isBrowser() || options.dangerouslyAllowBrowser);
  if ("apiKey" in options && typeof apiKey !== "function") assertUsable("apiKey", isKey(apiKey));
  const times: readonly unknown[] = [timeout, retry ?? {}].flatMap(Object.values);
  assertUsable("timeout or retry", !times.some((ms) => ms !== undefined && !(Number(ms) >= 0)));
  const keys = new Set<string>();

  const client: Client = Object.freeze<Client>({
    baseURL,
    user,
    credentials,
    timeout,
    retry: { limit: 2, maxRetryAfterMs: 30_000, ...retry },
    clock,
    random: options.random ?? Math.random,
    idempotencyKeys: options.idempotencyKeys ?? apiKey === undefined,
    gateway: options.gateway ?? {},
    uploads: options.uploads,
    resume: options.resume,
    // the global `fetch` throws with another `this`, so it is called without an object
    fetch: (options.fetch ?? ((...given) => globalThis.fetch(...given))) as typeof globalThis.fetch,
    hasOwnFetch: options.fetch !== undefined,
    hasOnEvent: Boolean(options.onEvent),
    // the platform copies a `Request` with its body, which takes longer than everything else before the call. But only
    // creating a `Request` shows that the platform rejects `credentials`
    prepare: (...given) => (options.fetch || credentials ? [new Request(...given)] : given),
    headers: createHeaders,
    scrub,
    emit,
    warn,
    listeners,
  });
  return client;

  function warn(issue: Issue, callId?: string): void {
    emit({ type: "warning", issue, callId });
    // also printed with subscribers: a library that subscribes must not hide the warning from the developer
    print(issue, options);
  }

  async function createHeaders(request: CallInfo): Promise<Headers> {
    const given = typeof options.headers === "function" ? await options.headers(request) : options.headers;
    const all = readHeaders(given);
    if (apiKey === undefined) {
      if (user !== undefined) all.set("x-sluice-user", hashToId(user));
      return all;
    }
    const key: unknown = typeof apiKey === "function" ? await apiKey() : apiKey;
    try {
      if (process.env.NODE_ENV !== "production") explainKey(key);
    } catch (error) {
      if (isGatewayError(error)) throw error;
    }
    assertUsable("apiKey", isKey(key));
    remember(key);
    all.set("authorization", `Bearer ${key}`);
    return all;
  }

  /** Remembers a key for `scrub`. The most recently used key is last in the set. */
  function remember(key: string): void {
    // short keys are not redacted: a test key may be one letter, which occurs everywhere
    if (key.length < 8) return;
    keys.delete(key);
    keys.add(key);
    const [oldest] = keys;
    if (keys.size > MAX_KEYS) keys.delete(oldest as string);
  }

  function scrub(text: string): string {
    if (keys.size === 0) return text;
    const plain = unescapeJSON(text);
    let clean = [...keys].some((key) => plain.includes(key)) ? plain : text;
    for (const key of keys)
      for (const form of [key, encodeURIComponent(key)]) clean = clean.replaceAll(form, "[redacted]");
    return clean;
  }

  function emit(event: ClientEvent): Promise<unknown> {
    const results: unknown[] = [];
    for (const listener of [...listeners])
      if (listeners.has(listener)) isolate(() => void results.push(listener(event)));
    return Promise.all(results);
  }
}

/**
 * Calls `listener` with each later event of a client, after the option `onEvent`. Use it in code that did not create
 * the client, such as a library or a panel. The client still prints warnings: only `onEvent` stops that. Errors of
 * `listener` are reported as uncaught and change nothing. A listener added twice runs twice. An attempt is sent when the
 * promises that listeners return for its `request` have settled, so that a record of it can be stored before.
 *
 * @returns a function that unsubscribes, also during an event
 * @example
 * ```ts
 * const unsubscribe = subscribeToEvents(client, (event) => {
 *   if (event.type === "end") console.log(event.kind, event.outcome, event.durationMs);
 * });
 * ```
 */
export function subscribeToEvents(
  { listeners }: Pick<Client, "listeners">,
  listener: (event: ClientEvent) => unknown,
): () => void {
  const entry = (event: ClientEvent) => listener(event);
  listeners.add(entry);
  return () => void listeners.delete(entry);
}

/** Resolves the JSON escapes that may hide a key. Quotes and backslashes stay escaped. */
function unescapeJSON(text: string): string {
  return text.replace(/\\(?:\/|u00(?!22|5c)([2-7][\da-f]))/gi, (_, hex?: string) =>
    hex ? String.fromCharCode(Number.parseInt(hex, 16)) : "/",
  );
}

function isKey(key: unknown): key is string {
  return typeof key === "string" && /^[\x21-\x7e]+$/.test(key);
}

/** Rejects an option in production. In development, `explainOptions` has already thrown a detailed error. */
function assertUsable(option: string, isUsable: unknown): asserts isUsable {
  if (!isUsable) throw new ConfigurationError(`${option}: is missing, or can't be used`);
}
