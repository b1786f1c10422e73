import { budget, maxTokens } from "@sluice/durable";
import type { DurableObjectNamespace } from "@sluice/durable/cloudflare";
import type { Payable } from "@sluice/worker-proxy/plugin";
import type { Env as CommonEnv } from "./options.js";

/** Environment of a Worker with Durable Objects. */
export interface Env extends CommonEnv {
  readonly SLUICE: DurableObjectNamespace;
}

/**
 * Tokens per day. Images and videos count as a number of tokens. A visitor who can create user ids for free is bounded by
 * the limits `address` and `all`.
 */
const limits = { user: 500_000, address: 2_000_000, all: { limit: 50_000_000, shards: 4 } };

const reserveTokens = maxTokens();

/** Creates the budget of both Workers. Its `GET /v1/budget` shows users their remaining tokens. */
export function createBudget() {
  return budget<Env>({ limits, windowMs: 24 * 60 * 60 * 1000, reserve });
}

/** Returns the maximum cost of a request. The caps of options.ts guarantee that `max_tokens` is set. */
function reserve(payable: Payable<Env>): number {
  if (payable.route === "videos") return 100_000;
  if (payable.route === "images") return 40_000;
  return reserveTokens(payable);
}
