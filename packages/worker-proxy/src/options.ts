import type { Admitted, Checked, Extension, Meter, ProxyContext, User } from "./admitted.js";
import type { ProxyEvent } from "./report.js";
import type { RouteName } from "./routes.js";
import type { SpecModelId } from "./spec-model-ids.js";

/** One secret; while it is changed, all that are valid, the one in use first. */
export type Keys = string | undefined | readonly string[];

/**
 * Returns the user of a request, or null (401). If it throws, the answer is 503, nothing is sent, and the log has the
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

/** The most that one request may take. Whole numbers from 1 up; `pollMemoMs` from 0 up. */
export interface Limits {
  /**
   * The largest body, in bytes. The default holds the spec's largest image as a data URI; a body takes several times
   * its size of a Worker's 128 MB, so set it lower for chat. @default 33_554_432
   */
  readonly bodyBytes?: number;
  /** The time for a body to arrive, in milliseconds. @default 30_000 */
  readonly bodyMs?: number;
  /** The time until the gateway's headers, in milliseconds. @default 600_000: thinking takes minutes */
  readonly headersMs?: number;
  /**
   * The time for which an answer may stand still, in milliseconds: the gateway sends no content (comments and empty
   * deltas are none), or the client takes none. If it is set, the proxy reads every stream.
   * @default 60_000 for what the proxy reads: JSON answers, and streams with a `meter`; none for other streams
   */
  readonly stallMs?: number;
  /** The time for a whole answer, in milliseconds, from sending. Events of extensions are not bounded. @default 900_000 */
  readonly totalMs?: number;
  /**
   * The largest `max_tokens` of a chat, at most the model's own; set where a chat request has none. What `models` says
   * of a model's `max_tokens` takes its place.
   * @default none
   */
  readonly maxTokens?: number;
  /**
   * The time for which an answer about a task or an asset is given again to polls of the same user, in milliseconds; 0
   * for never. This isolate keeps up to 1,000. @default 1000
   */
  readonly pollMemoMs?: number;
  /**
   * The largest number of chat streams that one user may have open at a time, in each isolate; the next is refused with
   * 429 `too_many_streams`. With `streamLog` the streams that are open at the gateway are counted, in all isolates
   * together, whether they are read or not: give the object the same `limits`. Not counted under `authenticate: "public"`, where all are one user. @default 16
   */
  readonly streamsPerUser?: number;
  /** The largest file in a data URI or in plain Base64, in bytes. @default 20_971_520: the spec's largest image */
  readonly dataURIBytes?: number;
}

/** Options of `GET /health`, which needs no sign-in. */
export interface Health {
  /**
   * Asks the gateway too: polls a task that does not exist, which is free, and shows that the key is taken and that the host
   * is a gateway. Each isolate asks at most once in 10 seconds, and one at a time, for all callers.
   * @default false
   */
  readonly asksGateway?: boolean;
}

/** Receives the event of each request when its answer is over. */
export interface OnEvent<Env = unknown> extends Checked<Env> {
  (event: ProxyEvent, env: Env, context: ProxyContext | undefined): unknown;
}

/** A request that goes to the gateway now, as its span needs it. */
export interface BegunRequest {
  readonly method: string;
  readonly route: RouteName;
  /** The client's `traceparent`, where it is well-formed. */
  readonly traceparent?: string | undefined;
  /** Time at which the request arrived, in Unix milliseconds. */
  readonly startedAt: number;
}

/** A request that a limiter decides about. */
export interface RateLimited extends Pick<Admitted, "user" | "route" | "request"> {
  readonly method: string;
  /** True for a poll of a task or an asset, which is free and comes often. */
  readonly isPoll: boolean;
}

/**
 * Decides if a request may pass now: returns undefined, or the time to wait. If it throws, the answer is 503, and the
 * log has the cause.
 */
export interface RateLimit<Env = unknown> extends Checked<Env> {
  (asked: RateLimited, env: Env): TooMany | undefined | Promise<TooMany | undefined>;
}

/** The answer of a limiter that has nothing left. */
export interface TooMany {
  readonly retryAfterMs: number;
  /** The things that were too many, for the answer and the event: `polls`. @default "requests" */
  readonly limit?: string;
}

/** The rule for addresses that the gateway may fetch media from. */
export type Media = "public" | "any" | ((url: URL) => boolean);

/**
 * The bounds of what a model may be asked for, by field: `duration`, `parameters.duration`. A number is the largest
 * number, or the greatest length of a list. A list has all values that are allowed; a request without the field gets
 * the first.
 */
export type Caps = Readonly<Record<string, number | readonly (string | number | boolean)[]>>;

/** The models that are allowed: a list of ids, or an object with the caps of each. An editor offers those of the spec. */
export type Models =
  | readonly (SpecModelId | (string & {}))[]
  | (Readonly<Record<string, Caps>> & { readonly [Id in SpecModelId]?: Caps });

/** Options of `createProxy`. Those that decide who may spend have no default. */
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
  /** The routes that are open. `videos` and `assets` need a `secret`, unless all callers are one user. @default ["chat", "health"] */
  readonly routes?: readonly RouteName[];
  /**
   * A secret of the proxy's own, at least 32 characters. With it ids of tasks and assets leave marked for the user who
   * made them, and are refused from any other; and models that have `user_id` get a pseudonym. While it is
   * changed, several, the new one first.
   */
  readonly secret?: ((env: Env) => Keys | Promise<Keys>) | undefined;
  /** Limits the rate of a user's requests: `workersRateLimit(…)`, or a function of your own. @default none */
  readonly rateLimit?: RateLimit<Env> | undefined;
  /** Sets aside what a request costs, and settles it by `usage`: `budget(…)` of `@sluice/durable`. @default none */
  readonly meter?: Meter<Env> | undefined;
  /**
   * Asks the gateway for the usage of each stream that a `meter` counts: `stream_options.include_usage`. `true` asks
   * every chat model; with `false`, streams without usage cost all that was reserved.
   * @default only `alpha-v4.1-flash`, the model for which the spec lists the field
   */
  readonly includeUsage?: boolean | undefined;
  /**
   * Takes `response_format` as other clients send it: with a `json_schema`, with a `schema` beside `json_object`, and with
   * `json_object` for a model without it. What is asked for becomes a system message before the others, and `json_object`
   * stays where the model has it. The gateway does not hold the answer to the schema.
   * @default false: it is refused, with what to send instead
   */
  readonly adaptJSONSchema?: boolean | undefined;
  /**
   * The addresses of media that the gateway may be sent to: `public` ones, `any`, or those for which a function says
   * true. Addresses that some readers take for another host's (with an `@`, a backslash or a tab) are refused before.
   * Files in the request have to be images in Base64, unless it is `any`.
   * @default "public": https without a port, and a host's name that is no private network's
   */
  readonly media?: Media;
  /** The gateway's path for an asset lookup, `/gamma/asset/GetAsset`; the spec shows none. It is sent `{ Id }`. @default none */
  readonly assetLookup?: string | undefined;
  /** Further paths, and other ways to the gateway: those of `@sluice/durable`. @default none */
  readonly extensions?: readonly Extension<Env>[];
  /** The path before the gateway's paths: `/api`. @default "" */
  readonly basePath?: string;
  /** Bounds of sizes and times. */
  readonly limits?: Limits;
  /** Receives each event, for logs and meters. An error that it throws is in the log, and breaks no answer. */
  readonly onEvent?: OnEvent<Env>;
  /** Options of `GET /health`. */
  readonly health?: Health;
  /**
   * Further headers of each request to the gateway: the key of an AI gateway in front of it (`cf-aig-authorization`),
   * metadata for its logs. Values are ASCII. `authorization`, `cookie`, `host`, `content-*` and headers about the
   * connection can't be set. A value whose name says that it is a credential (auth, key, token) is kept from
   * answers like the gateway's key; none is in the proxy's log.
   * @default none
   */
  readonly upstreamHeaders?: (
    admitted: Admitted<Env>,
  ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /**
   * Begins the proxy's own span of an admitted request, and returns its `traceparent`: that of `createProxyTelemetry()` in
   * `@sluice/otel`. It goes to the gateway in place of the client's, and the request's event has it as `ownTraceparent`.
   * The client's goes on where it returns none that is well-formed, and where it throws: a broken log must not break an
   * answer.
   * @default the client's goes on
   */
  readonly traceparent?: ((begun: BegunRequest) => string | undefined) | undefined;
  /** Another way to the gateway: a service binding, a test. It must not follow redirects. @default the global `fetch` */
  readonly fetch?: (request: Request, env: Env) => Promise<Response>;
}
