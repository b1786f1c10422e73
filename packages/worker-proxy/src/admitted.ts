/** A group of routes that can be opened: those of the spec's part of the same name, `GET /health` and `GET /v1/budget`. */
export type RouteName = "chat" | "images" | "videos" | "assets" | "epsilon" | "health" | "budget";

/** Who a request comes from. */
export interface User {
  /** Stable, and not to be guessed from outside: for limits and logs. */
  readonly id: string;
  /** The sign-in that the request belongs to, for limits by session. @default none: the user counts as one session */
  readonly session?: string;
  /**
   * The network address that the request came from, for limits by address. An IPv6 address stands for its network of
   * 64 bits. @default `cf-connecting-ip`, which only Cloudflare's network sets and protects
   */
  readonly address?: string;
}

/** A part of the proxy's setup that can look, without a request, at what it needs from `env`. */
export interface Checked<Env = unknown> {
  /**
   * The checks of `GET /health`, one for each setting or binding. A check throws, or rejects with, an error whose
   * message names what is missing, without any value. It asks nothing outside.
   */
  readonly checks?: readonly ((env: Env) => unknown)[];
}

/** The third thing a Worker is given; other hosts have none. */
export interface ProxyContext {
  waitUntil(promise: Promise<unknown>): void;
}

/** A request that has come through all gates: what may be done for it is decided. */
export interface Admitted<Env = unknown> {
  /** As it came in, for its `signal` and for headers of one's own; its body has been read. */
  readonly request: Request;
  readonly env: Env;
  readonly context: ProxyContext | undefined;
  readonly user: User;
  readonly route: RouteName;
  /** The id of the task or asset that is polled: the gateway's own, its signature checked and taken off. */
  readonly id?: string;
  /** The id as the client knows it: what an answer has to call it. */
  readonly sentId?: string;
  readonly model?: string;
  /** Headers of the request to the gateway beside its key: request id, `traceparent`, those of `upstreamHeaders`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body as it would leave for the gateway. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The paths of fields that were left out of the body; the answer names them in `x-sluice-dropped`. */
  readonly dropped?: readonly string[];
}

/** What the gateway says in `usage`, as it is. */
export type Usage = Readonly<Record<string, unknown>>;

/** The part of an admitted request that a meter sees. Known wherever the gateway is called from. */
export type Payable<Env = unknown> = Pick<
  Admitted<Env>,
  "env" | "context" | "user" | "route" | "model" | "body"
>;

/**
 * The end of one call to the gateway, for the one who pays.
 *
 * - `not_reached`: nothing was sent.
 * - `refused`: the gateway gave an error, a redirect or a page instead of an answer.
 * - `answered`: the answer came to its end.
 * - `unknown`: the gateway may have done the work, and nothing says how much of it.
 */
export type CallOutcome = "not_reached" | "refused" | "answered" | "unknown";
