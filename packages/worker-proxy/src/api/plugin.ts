import type { ProxyEvent } from "./events.js";
import type { PluginServer, StoredPart } from "./host.js";
import type { RouteName } from "./routes.js";

/** The sender of a request. */
export interface User {
  /** A stable id for limits and logs, which strangers cannot guess. */
  readonly id: string;
  /** The sign-in that the request belongs to, for limits by session. @default none: the user counts as one session */
  readonly session?: string;
  /**
   * The network address that the request came from, for limits by address. An IPv6 address stands for its network of
   * 64 bits. @default `cf-connecting-ip`, which only Cloudflare's network sets and protects
   */
  readonly address?: string | undefined;
}

/** A part of the proxy's setup that can check its variables and bindings without a request. */
export interface Checked<Env = unknown> {
  /**
   * The checks of `GET /health`, one for each setting or binding. A check throws, or rejects with, an error whose
   * message names the missing variable, without any value. It sends no request.
   */
  readonly checks?: readonly ((env: Env) => unknown)[];
}

/** The data of a user that a plugin stores, for the operator. */
export interface UserData<Env = unknown> {
  /** The name of the plugin in an export: `files`. */
  readonly name: string;
  /**
   * Ends the jobs of a user, and deletes all data of the user. After a failure, the next call deletes the rest.
   *
   * @param userId the id that `authenticate` returns
   */
  eraseUser(env: Env, userId: string): Promise<void>;
  /**
   * Returns all data of a user, as JSON. A plugin that stores much returns one page.
   *
   * @param cursor opens the next page
   */
  exportUser(env: Env, userId: string, cursor?: string): Promise<unknown>;
}

/**
 * One operation on the data of a plugin, for its operator: `admin(…)` of `@sluice/durable` serves it at
 * `POST /v1/admin/<name>`, to operators alone.
 */
export interface AdminOperation<Env = unknown> {
  /** The plugin and the action: `files/list`. Small letters, digits and hyphens. */
  readonly name: string;
  /** The fields that the body may have. A request with another field is refused. @default any field */
  readonly fields?: readonly string[];
  /**
   * Runs the operation.
   *
   * @param body the body of the request, unchecked: `{ user: "…" }` for an operation on one user
   * @returns JSON
   * @throws {TypeError} for a wrong field; its message is the operator's response, with 400. Any other error is 503
   */
  run(env: Env, body: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** Access of an operator to the data of a plugin. */
interface OperatorPart<Env = unknown> extends Checked<Env> {
  /** Access to the data of a user. @default it stores none */
  readonly userData?: UserData<Env>;
  /** Further operations, such as lists. @default none */
  readonly operations?: readonly AdminOperation<Env>[];
}

/** The context of a request in a Worker; other hosts have none. */
export interface ProxyContext {
  waitUntil(promise: Promise<unknown>): void;
}

/** A request that passed all checks of the proxy. */
export interface AdmittedRequest<Env = unknown> {
  /** The request as it came, for its `signal` and its headers; its body has been read. */
  readonly request: Request;
  readonly env: Env;
  readonly context: ProxyContext | undefined;
  readonly user: User;
  readonly route: RouteName;
  /** The path at the gateway, without `baseURL`: `/epsilon/v1/videos/text2video`. `{id}` stands for an id. */
  readonly path: string;
  /** The gateway's id of the task or asset that is polled. The proxy has checked and removed its signature. */
  readonly id?: string;
  /** The id with its signature, as the client sent it. A response names the task or asset by this id. */
  readonly signedId?: string;
  readonly model?: string;
  /** Headers of the request to the gateway beside its key: request id, `traceparent`, those of `gatewayHeaders()`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body as it would leave for the gateway. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The addresses in the body: of files, of assets, and texts that could be read as one. A file in Base64 is none. @default none */
  readonly addresses?: readonly string[];
  /** The paths of fields that were left out of the body; the response names them in `x-sluice-dropped-fields`. */
  readonly dropped?: readonly string[];
  /** True under `authenticate: "public"`: many people are one user. @default false */
  readonly isPublic?: boolean;
}

/** The gateway's `usage`, unchanged. */
export type Usage = Readonly<Record<string, unknown>>;

/** The fields of a request that a meter sees. A job that calls the gateway knows them, too. */
export interface Payable<Env = unknown>
  extends Pick<AdmittedRequest<Env>, "env" | "context" | "user" | "route" | "model" | "body"> {
  /**
   * Stores the ticket of a reservation, and its amount in the meter's unit. A meter calls it and awaits it before it
   * reserves the amount: after a crash the next process finds the reservation by its ticket.
   * @default the ticket is stored after `reserve` has returned
   */
  readonly keepTicket?: ((ticket: string, amount: number) => Promise<void>) | undefined;
}

/**
 * The end of one call to the gateway. It decides how much is spent.
 *
 * - `not_reached`: nothing was sent.
 * - `refused`: the gateway gave an error, a redirect or a page instead of a response.
 * - `responded`: the response came to its end.
 * - `unknown`: the gateway may have done the work, or a part of it.
 */
export type CallOutcome = "not_reached" | "refused" | "responded" | "unknown";

/** A further path of the proxy, with the same checks as the gateway's paths. */
export interface PluginRoute<Env = unknown> {
  /** The group, for events and features. */
  readonly name: RouteName;
  /** The body of a `POST` is one JSON object, which the plugin checks. */
  readonly method: "GET" | "HEAD" | "POST" | "PATCH" | "DELETE";
  /** Names of the parameters that its query may have, each once; the plugin checks their values. @default it takes none */
  readonly query?: readonly string[];
  /** Below `basePath`; `{id}` stands for an id. */
  readonly path: string;
  /** `task`: an id that is signed for its user, like a task's; `own`: an id of the plugin, which stores its user. */
  readonly id: "task" | "own";
  /** True for a path that costs nothing: `rateLimit` counts it as a poll, as it counts each `GET`. @default false */
  readonly isFree?: boolean;
  /**
   * True for bytes instead of JSON: the plugin reads the request's body itself, and its response leaves as it is, with its
   * type and its headers. Set `content-type`, and `content-security-policy` for
   * what a browser may show.
   * @default false
   */
  readonly isRaw?: boolean;
  /**
   * True for a `GET` or `HEAD` that needs no sign-in and counts in no rate limit: the plugin itself checks a signed link.
   * `user.id` is empty then. `origins` still applies.
   * @default false
   */
  readonly isPublic?: boolean;
  /**
   * Returns `true` for an operator, for a path of the group `admin`, which exists for operators alone. Other users get the
   * 404 of a path that is not served, even after an error. It runs before the body is read.
   * @default no user is an operator
   */
  isOperator?(
    user: User,
    request: Pick<AdmittedRequest<Env>, "request" | "env" | "context" | "path">,
  ): boolean | Promise<boolean>;
  /**
   * Responds with JSON, an event stream or nothing (204). An error response has the gateway's error shape.
   */
  serve(admitted: AdmittedRequest<Env>): Promise<Response | StoredResponse>;
}

/**
 * A response that a plugin has requested, read, checked and paid for. The proxy passes it on, and neither reads nor counts
 * it again.
 */
export interface StoredResponse {
  readonly response: Response;
  /** True if it was stored already. */
  readonly isReplayed: boolean;
  /** The id of the stream; absent for JSON. */
  readonly streamId?: string;
  /** Returns the `error.code` with which its stream has ended; undefined for a complete stream. */
  readonly endCode?: () => Promise<string | undefined>;
}

/** An amount that is reserved for one request. */
export interface Reservation {
  /** Called once, when the response is over. Without `usage` (a cut, or a gateway that reports none) all of it is spent. */
  settle(usage: Usage | undefined): Promise<void>;
  /** Called instead of `settle` when the gateway was not reached or refused: nothing is spent. */
  release(): Promise<void>;
  /** The amount that is set aside, in the meter's unit, for events. @default events have none */
  readonly amount?: number;
  /** Returns the amount that `settle` spends, in the meter's unit, for events. @default events have none */
  readonly calculateCost?: (usage: Usage | undefined) => number;
  /**
   * A text for `settleTicket` of the meter, which finds the reservation by it in another process. It is stored beside a
   * response until the response is settled. @default none: the reservation of a lost response is not settled
   */
  readonly ticket?: string;
}

/** The reservation of a request that is on its way. */
export interface Account extends Pick<Reservation, "ticket"> {
  /** The amount that is set aside; undefined where the meter does not say. */
  readonly reserved: number | undefined;
  /**
   * Settles or releases it. Only the first close counts; later calls return undefined. `usage` counts for a response
   * that came to its end.
   */
  close(outcome: CallOutcome, usage?: Usage): Paid | undefined;
}

/** The end of a reservation. */
export interface Paid {
  /** The amounts, in the meter's unit; undefined if the meter reports none. */
  readonly reserved: number | undefined;
  readonly spent: number | undefined;
  /** Resolves with false after a settlement that failed. The failure is logged. */
  readonly settled: Promise<boolean>;
}

/** The result of `reserve` when a budget is used up. */
export interface Exhausted {
  /** The milliseconds until another attempt can succeed. */
  readonly retryAfterMs: number;
  /** The budget that is used up, for the operator: `all`. @default none */
  readonly budget?: string;
  /** True for a budget of several users: the code is `shared_budget_exhausted` then. @default false */
  readonly isShared?: boolean;
}

/** The fields of a request that its span needs, right before the gateway is called. */
interface BegunRequest {
  readonly method: string;
  readonly route: RouteName;
  /** The client's `traceparent` if it is well-formed. */
  readonly traceparent?: string | undefined;
  /** Time at which the request arrived, in Unix milliseconds. */
  readonly startedAt: number;
}

/**
 * An addition to a proxy, such as the plugins of `@sluice/durable`. Its fields are in the order of a request. `definePlugin` of `/plugin`
 * makes one.
 */
export interface ProxyPlugin<Env = unknown> extends OperatorPart<Env> {
  /** The code that runs plugins. `definePlugin` adds it. */
  readonly run?: (plugins: readonly ProxyPlugin<never>[]) => unknown;
  /** The tables, operations and jobs that it stores. The proxy needs a `host` then. @default it stores nothing */
  readonly storage?: StoredPart;
  /** Called once by `createProxy`. A plugin belongs to one proxy. */
  connect?(server: PluginServer<Env>): void;
  /** Further paths of the proxy. @default none */
  readonly routes?: readonly PluginRoute<Env>[];
  /** Creates further paths from all plugins of the proxy: those of operators. @default none */
  createRoutes?(plugins: readonly ProxyPlugin<Env>[]): readonly PluginRoute<Env>[];
  /**
   * The `x-sluice-features` header of all responses of a group, refusals among them: `video-events`. A client whose response was
   * lost reads the features of `health`: a feature there opens `GET /health`, also without the plugin `health()`.
   */
  readonly features?: Partial<Record<RouteName, string>>;
  /**
   * Rewrites a body before its fields are checked. `hasField` returns true for a field of the model. Returns the paths of the fields
   * that it deleted: the response names them in `x-sluice-dropped-fields`.
   */
  adapt?(
    body: Record<string, unknown>,
    hasField: (path: string) => boolean,
    route: RouteName,
    model: string,
  ): readonly string[] | undefined;
  /**
   * Returns further headers for the request to the gateway: `gatewayHeaders(…)`. A value whose name says that it is a
   * credential (auth, key, token) is kept from responses like the gateway's key; none is in the proxy's log.
   */
  headers?(
    admitted: AdmittedRequest<Env>,
  ): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /**
   * Begins the proxy's own span of an admitted request, and returns its `traceparent`. It goes to the gateway in place of
   * the client's, and the request's event has it as `ownTraceparent`. If the function throws or returns nothing well-formed,
   * the client's is sent: a broken log must not break a response.
   */
  readonly traceparent?: ((begun: BegunRequest) => string | undefined) | undefined;
  /** Returns true for the address of a file of this plugin. Requests may name it although `mediaURLs` does not allow it. */
  allowsMediaURL?(url: URL): boolean;
  /**
   * Checks an admitted request before any plugin responds to it and before anything is reserved. An error that it throws ends
   * the request.
   */
  checkRequest?(admitted: AdmittedRequest<Env>): Promise<void>;
  /**
   * Responds to an admitted request in place of the gateway. Undefined lets the proxy call the gateway. Nothing is reserved
   * for such a request. Where `isMetered` is true, a plugin that calls the gateway itself has to reserve and settle, or refuse with 500.
   */
  send?(admitted: AdmittedRequest<Env>, isMetered: boolean): Promise<Response | StoredResponse> | undefined;
  /**
   * Reserves the most that a request can cost, right before the request is sent. One plugin can do it. It needs
   * `readStreams()` among the plugins, or in itself: `{ ...readStreams(), reserve }`.
   *
   * @returns the reservation, or `Exhausted` when a budget is used up
   */
  reserve?(payable: Payable<Env>): Promise<Reservation | Exhausted>;
  /**
   * Settles a reservation after the end of its process, or after a settlement that failed. For a settled reservation it
   * changes nothing. If it fails, it is called again with growing pauses, up to an hour after the stored response has
   * expired. Then a job event reports `dropped` with the code `reservation_unsettled`.
   *
   * @param spent the amount that is spent; undefined for all that was reserved
   */
  settleTicket?(ticket: string, spent: number | undefined, env: Env): Promise<void>;
  /** Reads streams. Only `readStreams()` has it. @default the platform forwards streams, and the proxy reads only their first event */
  readonly readStream?: (...exchange: never[]) => ReadableStream<Uint8Array>;
  /**
   * Receives each JSON response about a task, an asset or images before the client does. `admitted` has the id of a
   * task or an asset, also of a new one, and a `body` if it was created. An error is logged, and the client gets its response: it is paid for.
   */
  responded?(admitted: AdmittedRequest<Env>, json: unknown): Promise<void>;
  /**
   * True if it responds to each chat stream itself, and refuses those beyond `limits.maxStreamsPerUser`: the proxy does not
   * count them then.
   * @default false
   */
  readonly boundsStreams?: boolean;
  /**
   * Receives the event of each request when its response is over, and of each job of the plugins, for logs and metrics. An
   * error that it throws is in the log, and breaks no response.
   */
  readonly onEvent?: (event: ProxyEvent, env: Env, context: ProxyContext | undefined) => unknown;
}

/** A plugin that reserves and settles what requests cost, as `budget(…)` of `@sluice/durable`. */
export type Meter<Env = unknown> = ProxyPlugin<Env> & Required<Pick<ProxyPlugin<Env>, "reserve">>;
