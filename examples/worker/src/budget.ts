import { budget, maxTokens } from "@sluice/durable";
import type { DurableObjectNamespace } from "@sluice/durable/cloudflare";
import type { Payable } from "@sluice/worker-proxy/plugin";
import type { Env as CommonEnv } from "./options.js";

/** Environment of a Worker with Durable Objects. */
export interface Env extends CommonEnv {
  readonly SLUICE: DurableObjectNamespace;
}

/**
 * Tokens that may be spent in a day; what is no chat has a price in them. Whoever can get a new user id for nothing,
 * as an anonymous visitor can, is held by the limits of an address and of all.
 */
const limits = { user: 500_000, address: 2_000_000, all: { limit: 50_000_000, shards: 4 } };

const reserveTokens = maxTokens();

/** Creates the budget of both Workers. Its `GET /v1/budget` tells users what they have left. */
export function createBudget() {
  return budget<Env>({ limits, windowMs: 24 * 60 * 60 * 1000, reserve });
}

/** The most that a request can cost. The caps of options.ts see to it that `max_tokens` is always there. */
function reserve(payable: Payable<Env>): number {
  if (payable.route === "videos") return 100_000;
  if (payable.route === "images") return 40_000;
  return reserveTokens(payable);
}
