import type { Admitted, RouteName, Usage } from "./admitted.js";

/** One more path of the proxy's own, behind the same gates as the gateway's. */
export interface ExtensionRoute<Env = unknown> {
  /** The group that has to be open. */
  readonly name: RouteName;
  readonly method: "GET" | "DELETE";
  /** Below `basePath`; `{id}` stands for an id. */
  readonly path: string;
  /** `task`: signed for its user, like a task's; `own`: given out by the extension, which knows whose it is. */
  readonly id: "task" | "own";
  /** Answers with JSON, an event stream or nothing (204). What is no success has the gateway's error shape. */
  serve(admitted: Admitted<Env>): Promise<Response>;
}

/** What can be added to a proxy; `@sluice/worker-proxy/durable` has two. */
export interface Extension<Env = unknown> {
  readonly routes: readonly ExtensionRoute<Env>[];
  /** What answers of the gateway's routes of these groups say in `x-sluice-offers`: `video-events`. */
  readonly offers?: Partial<Record<RouteName, string>>;
  /** Takes over the way of an admitted request to the gateway; undefined leaves it as it is. */
  send?(admitted: Admitted<Env>): Promise<Response> | undefined;
}

/** Money, or what stands for it, that is set aside for one request. */
export interface Reservation {
  /** Called once, when the answer is over. Without `usage` (the client left, the gateway does not tell) all of it is spent. */
  settle(usage: Usage | undefined): Promise<void>;
  /** Called instead when the gateway was not asked, or refused (but for its timeouts, 504 and 524): nothing is spent. */
  release(): Promise<void>;
}

/** Decides before each request that costs whether its user can still pay. */
export interface Meter<Env = unknown> {
  /** Milliseconds until it is worth asking again, when nothing is left. */
  reserve(admitted: Admitted<Env>): Promise<Reservation | { readonly retryAfterMs: number }>;
}
