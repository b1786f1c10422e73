import type { Admitted, Extension } from "../admitted.js";
import type { Account } from "../gates/budget.js";
import type { Tenancy } from "../gates/ids.js";
import type { Route } from "../gates/path.js";
import type { Report } from "../report.js";
import type { Call } from "./call.js";

/** An answer of the gateway under way, and the call that it belongs to. */
export interface Upstream {
  readonly response: Response;
  readonly call: Call;
}

/** An admitted request on its way to the gateway and back. */
export interface Exchange<Env> {
  readonly admitted: Admitted<Env>;
  readonly route: Route;
  readonly report: Report;
  readonly call: Call;
  /** The reservation, from the moment in which the gateway is about to be called. */
  account?: Account | undefined;
}

/** The operator's rules for the answer to one user's request. */
export interface AnswerRules<Env> {
  /** Values that no answer may hold: the gateway's keys, and keys in further headers. */
  readonly keys: readonly string[];
  /** The time for which an answer may stand still, in milliseconds; undefined where none is set. */
  readonly stallMs: number | undefined;
  /** True where the gateway's streams are read: for a meter, or for `stallMs`. */
  readonly readsStreams: boolean;
  /** The marks of this user's ids; undefined without a `secret`. */
  readonly tenancy: Tenancy | undefined;
  readonly extensions: readonly Extension<Env>[];
}
