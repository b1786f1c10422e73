import type { Admitted } from "../admitted.js";
import type { Account } from "../gates/budget.js";
import type { Route } from "../gates/path.js";
import type { Report } from "../report.js";
import type { Settings, Setup } from "../settings.js";
import type { Call } from "./call.js";

/** An answer of the gateway under way, and the call that it belongs to. */
export interface Upstream {
  readonly response: Response;
  readonly call: Call;
}

/** An admitted request on its way to the gateway and back. */
export interface Exchange<Env> {
  readonly settings: Settings<Env>;
  readonly setup: Setup;
  readonly admitted: Admitted<Env>;
  readonly route: Route;
  readonly report: Report;
  readonly call: Call;
  /** The reservation, from the moment in which the gateway is about to be called. */
  account?: Account;
}
