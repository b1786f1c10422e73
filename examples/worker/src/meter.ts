import { budget, mostTokens, type ObjectNamespace } from "@sluice/durable";
import type { Env as CommonEnv } from "./options.js";

/** Environment of the Worker with the objects, and of the one in front of it. */
export interface Env extends CommonEnv {
  readonly BUDGET: ObjectNamespace;
  readonly STREAM_LOG: ObjectNamespace;
}

/** The meter of both Workers: the objects reserve and settle in the proxy's place. */
export const meter = budget<Env>({
  namespace: (env) => env.BUDGET,
  limits: { user: 500_000, address: 2_000_000, all: { limit: 50_000_000, shards: 4 } },
  windowMs: 24 * 60 * 60 * 1000,
  reserveFor: mostTokens,
});
