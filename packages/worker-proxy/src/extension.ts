import type { Admitted, Checked, Payable, RouteName, Usage, User } from "./admitted.js";

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
export interface Extension<Env = unknown> extends Checked<Env> {
  readonly routes: readonly ExtensionRoute<Env>[];
  /** What answers of the gateway's routes of these groups say in `x-sluice-offers`: `video-events`. */
  readonly offers?: Partial<Record<RouteName, string>>;
  /**
   * Answers an admitted request instead of the gateway; undefined leaves it to the proxy. The proxy's meter is not asked
   * for such a request. Where `isMetered` is true, an extension that calls the gateway itself has to reserve and settle,
   * or refuse with 500.
   */
  send?(admitted: Admitted<Env>, isMetered: boolean): Promise<Response> | undefined;
}

/** Money, or what stands for it, that is set aside for one request. */
export interface Reservation {
  /** Called once, when the answer is over. Without `usage` (a cut, or a gateway that reports none) all of it is spent. */
  settle(usage: Usage | undefined): Promise<void>;
  /** Called instead of `settle` when the gateway was not reached or refused: nothing is spent. */
  release(): Promise<void>;
}

/** Decides before each request that costs whether its user can still pay. */
export interface Meter<Env = unknown> extends Checked<Env> {
  /**
   * Reserves the most that a request can cost, right before the gateway is asked.
   *
   * @returns the reservation, or the milliseconds until it is worth asking again when nothing is left
   */
  reserve(payable: Payable<Env>): Promise<Reservation | { readonly retryAfterMs: number }>;
  /** Reads what `GET /v1/budget` answers; a meter without it has no such path. */
  read?(reader: BudgetReader<Env>): Promise<readonly BudgetState[]>;
}

/** The user whose budgets are read. */
export interface BudgetReader<Env = unknown> {
  readonly env: Env;
  readonly user: User;
}

/** One budget of a user at the moment, as `GET /v1/budget` reports it. Amounts are in the meter's own unit. */
export interface BudgetState {
  /** The requests that count together: those of a `user`, an `address`, a `session`, or `all`. */
  readonly by: string;
  /** The most that can be spent in one window. */
  readonly limit: number;
  /** The amount of all settled requests in this window. */
  readonly spent: number;
  /** The amount held for requests that are not settled yet. */
  readonly reserved: number;
  /** The amount that the next request can reserve, 0 or more. */
  readonly remaining: number;
  /** The end of the window, in milliseconds since 1970. */
  readonly resetsAt: number;
}
