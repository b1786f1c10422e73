import type { RouteName } from "./admitted.js";

/**
 * What the proxy tells `onEvent`, once for each request but preflights, when its answer is over. No body, no header,
 * no key. Raise an alarm at the code `upstream_auth`: the gateway refuses the key, or the account is empty.
 */
export interface ProxyEvent {
  /** The answer's `x-request-id`: the gateway's, where it gave one. */
  readonly requestId: string;
  /** Absent where the path is none of the proxy's. */
  readonly route?: RouteName;
  readonly method: string;
  /** As it was sent; 499 where the client left before the end. */
  readonly status: number;
  /** The `error.code` that was sent, also inside a stream. */
  readonly code?: string;
  readonly model?: string;
  /** The id that `authenticate` gave. */
  readonly userId?: string;
  readonly ms: number;
}
