import type { Host } from "./host.js";
import type { AdmittedRequest, Checked, ProxyPlugin, User } from "./plugin.js";
import type { RouteGroup } from "./routes.js";
import type { SpecModelId } from "./spec-model-ids.js";

/** One secret, or all valid secrets while the secret is changed: first the secret in use. */
type Keys = string | undefined | readonly string[];

/**
 * Returns the user of a request, or null (401). If it throws, the response is 503, nothing is sent, and the log has the
 * cause. It must leave the body unread.
 *
 * @example two ways to sign in
 * ```ts
 * const people = cloudflareAccess({ teamDomain: "acme.cloudflareaccess.com", audience: "4714c135" });
 * const servers = jwt({
 *   jwks: "https://sign-in.example.com/.well-known/jwks.json",
 *   issuer: "https://sign-in.example.com/",
 *   audience: "gateway-proxy",
 * });
 * const authenticate: Authenticate = async (request, env) =>
 *   (await people(request, env)) ?? (await servers(request, env));
 * ```
 */
export interface Authenticate<Env = unknown> extends Checked<Env> {
  (request: Request, env: Env): User | null | Promise<User | null>;
}

/** The largest sizes and numbers. Whole numbers from 1 up. */
export interface Limits {
  /**
   * The largest body, in bytes. The default holds the spec's largest image as a data URI; a body takes several times
   * its size of a Worker's 128 MB, so set it lower for chat. @default 33_554_432
   */
  readonly maxBodyBytes?: number;
  /**
   * The largest sum of the bodies of all open requests in each isolate or process, in bytes. One user may hold two thirds
   * of it. The next body is refused before it is read: 429 `too_many_bytes`, or 503 `proxy_full` if other users hold the
   * rest. A body counts until its response ends, and takes about twice its size. Stored responses count their bodies in a second sum
   * of the same size. The sum is at least one and a half times `maxBodyBytes`, so any allowed body fits. Raise it for a
   * process with more memory than a Worker. @default 25_165_824
   */
  readonly maxOpenBodyBytes?: number;
  /** The largest file in a data URI or in plain Base64, in bytes. @default 20_971_520: the spec's largest image */
  readonly maxDataURIBytes?: number;
  /**
   * The largest `max_tokens` of a chat, at most the model's own. A chat request without the field gets this number. A cap of
   * `max_tokens` in `models` replaces it.
   * @default none
   */
  readonly maxTokens?: number;
  /**
   * The largest number of open chat streams per user, in each isolate; the next is refused with
   * 429 `too_many_streams`. With `resumableStreams()` the streams that are open at the gateway are counted, in all isolates
   * together, read or unread. Not counted under `authenticate: "public"`, where all are one user. @default 16
   */
  readonly maxStreamsPerUser?: number;
}

/** The longest times, in milliseconds. Whole numbers from 1 up. */
export interface Timeout {
  /** The time for a body to arrive. @default 30_000 */
  readonly bodyMs?: number;
  /** The time until the gateway's headers. Paths of plugins are not bounded. @default 600_000: thinking takes minutes */
  readonly firstChunkMs?: number;
  /**
   * The time for which a response that the proxy reads may stand still: the gateway sends no content (comments and empty
   * deltas are none), or the client reads none. The proxy reads JSON, and with `readStreams()` also streams.
   * @default 60_000
   */
  readonly chunkMs?: number;
  /** The time for a whole response, from sending. Responses of plugins are not bounded. @default 900_000 */
  readonly totalMs?: number;
}

/** The properties of this deployment of the gateway. */
export interface Gateway {
  /** The path for an asset lookup, `/gamma/asset/GetAsset`; the spec shows none. It is sent `{ Id }`. @default none */
  readonly assetLookup?: string | undefined;
  /**
   * Asks for the usage of each stream that a budget counts: `stream_options.include_usage`. `true` asks every chat
   * model; with `false`, streams without usage cost all that was reserved.
   * @default only `alpha-v4.1-flash`, the model for which the spec lists the field
   */
  readonly includeUsage?: boolean | undefined;
}

/** A request that a limiter decides about. */
export interface RateLimited extends Pick<AdmittedRequest, "user" | "route" | "request"> {
  readonly method: string;
  /** True for a poll of a task or an asset, which is free and comes often. */
  readonly isPoll: boolean;
}

/**
 * Decides if a request may pass now: returns undefined, or the time to wait. If it throws, the response is 503, and the
 * log has the cause.
 */
export interface RateLimit<Env = unknown> extends Checked<Env> {
  (limited: RateLimited, env: Env): TooMany | undefined | Promise<TooMany | undefined>;
}

/** The result of a limiter that has nothing left. */
export interface TooMany {
  readonly retryAfterMs: number;
  /** The things that were too many, for the response and the event: `polls`. @default "requests" */
  readonly limit?: string;
}

/** The rule for addresses that the gateway may fetch media from. */
export type MediaURLs = "public" | "any" | ((url: URL) => boolean);

/**
 * The bounds of what a model may be asked for, by field: `duration`, `parameters.duration`. A number is the largest
 * number, or the greatest length of a list. A list has all values that are allowed; a request without the field gets
 * the first.
 */
export type Caps = Readonly<Record<string, number | readonly (string | number | boolean)[]>>;

/** The models that are allowed: a list of ids, or an object with the caps of each. An editor offers those of the spec. */
type Models =
  | readonly (SpecModelId | (string & {}))[]
  | (Readonly<Record<string, Caps>> & { readonly [Id in SpecModelId]?: Caps });

/** Options of `createProxy`. The options that decide who may spend have no default. */
export interface ProxyOptions<Env = unknown> {
  /** The gateway, with or without `/v1`: https, or http on this machine. Never the proxy's own host. */
  readonly baseURL: string | ((env: Env) => string | Promise<string>);
  /**
   * The gateway's key, from a secret. Called for each request. While keys are changed, both: a request that the gateway
   * refuses under the first with 401, 402 or 403 is sent once more under the second, which is tried first from then on.
   */
  readonly apiKey: (env: Env) => Keys | Promise<Keys>;
  /**
   * Finds the user: `jwt(…)` or `cloudflareAccess(…)` of `/auth`, or a function of your own. `"public"` lets every caller spend: only for a proxy that no stranger can reach.
   */
  readonly authenticate: Authenticate<Env> | "public";
  /** The pages that may call from a browser, exactly as browsers name them: `https://app.example.com`. */
  readonly origins: readonly string[] | ((env: Env) => readonly string[] | Promise<readonly string[]>);
  /** Lets those pages send cookies along. @default false */
  readonly credentials?: boolean;
  /**
   * The models that are allowed, by the spec's ids: a list, or an object with the caps of each,
   * `{ "gamma-video-2.0": { duration: 10, resolution: ["720p", "480p"] } }`. Assets need a cap that lists their groups,
   * `{ "gamma-asset": { GroupId: ["group-1"] } }`.
   */
  readonly models: Models | ((env: Env) => Models | Promise<Models>);
  /**
   * Fields that requests may have beside those of the spec, for all models: names or paths, `["n", "extra_body.top_k"]`.
   * All that is in such a field passes; addresses in it are checked as media. A field that costs should have a cap in
   * `models` too.
   * @default none
   */
  readonly allowFields?: readonly string[];
  /**
   * The routes of the gateway that are open: `textChat`, `chat`, `images`, `videos`, `assets` and `epsilon` of this package. The
   * last three need a `secret`, unless all callers are one user. Plugins open their own. @default [textChat]: `chat` also
   * takes images
   */
  readonly routes?: readonly RouteGroup[];
  /**
   * A secret of the proxy's own, at least 32 characters. With it ids of tasks and assets leave marked for the user who
   * made them, and are refused from any other; and models that have `user_id` get a pseudonym. While it is
   * changed, several, the new one first.
   */
  readonly secret?: ((env: Env) => Keys | Promise<Keys>) | undefined;
  /** Limits the rate of a user's requests: `workersRateLimit(…)`, or a function of your own. @default none */
  readonly rateLimit?: RateLimit<Env> | undefined;
  /**
   * The addresses of media that the gateway may be sent to: `public` ones, `any`, or those for which a function says
   * true. Addresses that some readers take for another host's (with an `@`, a backslash or a tab) are refused before.
   * Files in the request have to be images in Base64, unless it is `any`.
   * @default "public": https without a port, with the name of a public host
   */
  readonly mediaURLs?: MediaURLs;
  /** The path before the gateway's paths: `/api`. @default "" */
  readonly basePath?: string;
  /** Bounds of sizes and numbers. */
  readonly limits?: Limits;
  /** Bounds of times. */
  readonly timeout?: Timeout;
  /** The properties of this deployment of the gateway. */
  readonly gateway?: Gateway;
  /** Additions: budgets, resumable streams and others of `@sluice/durable`, `adaptJSONSchema()`, or your own. @default none */
  readonly plugins?: readonly ProxyPlugin<Env>[];
  /** The database of the plugins: `cloudflareHost(…)`, `nodeHost(…)` or `postgresHost(…)` of `@sluice/durable`. @default none */
  readonly host?: Host<Env> | undefined;
  /** Another way to the gateway: a service binding, a test. It must not follow redirects. @default the global `fetch` */
  readonly fetch?: (request: Request, env: Env) => Promise<Response>;
}
