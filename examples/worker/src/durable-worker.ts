import { budget, mostTokens, type ObjectNamespace, videoEvents, videoWatch } from "@sluice/durable";
import { createProxy, type Payable } from "@sluice/worker-proxy";
import { type Env as CommonEnv, options } from "./options.js";

interface Env extends CommonEnv {
  readonly BUDGET: ObjectNamespace;
  readonly VIDEO_WATCH: ObjectNamespace;
  // readonly ONCE: ObjectNamespace;
  // readonly STREAM_LOG: ObjectNamespace;
}

export { Budget } from "@sluice/durable";

/** Polls a video task once for all tabs that show it. */
export const VideoWatch = videoWatch<Env>({ ...options, namespace: (env) => env.VIDEO_WATCH });

/**
 * Tokens that may be spent in a day; what is no chat has a price in them. Whoever can get a new user id for nothing,
 * as an anonymous visitor can, is held by the limits of an address and of all.
 */
const limits = { user: 500_000, address: 2_000_000, all: { limit: 50_000_000, shards: 4 } };

const meter = budget<Env>({
  namespace: (env) => env.BUDGET,
  limits,
  windowMs: 24 * 60 * 60 * 1000,
  reserveFor: priceOf,
});

// Images and videos that are paid once, also if their request comes again: the answers are remembered for a day. Import
// `once` and `onceObject`, bind and migrate the class, and add `once((env) => env.ONCE)` as the first plugin.
// export const Once = onceObject<Env>({ ...options, meter, namespace: (env) => env.ONCE });

// Chat streams that survive a reload. Answers stay in the object for 10 minutes after their end. Import `streamLog` and
// `streamLogObject`, bind and migrate the class in wrangler.durable.jsonc, and add it to the plugins below:
// `streamLog((env) => env.STREAM_LOG)`. The object asks the gateway, so that it needs the meter too.
// export const StreamLog = streamLogObject<Env>({ ...options, meter, namespace: (env) => env.STREAM_LOG });

/** The Worker of wrangler.durable.jsonc: the same, with budgets and with videos that are pushed. */
export default createProxy<Env>({
  ...options,
  // the budget's `GET /v1/budget` tells users what they have left
  plugins: [...options.plugins, meter, videoEvents((env) => env.VIDEO_WATCH)],
});

/** The most that a request can cost. The caps of options.ts see to it that `max_tokens` is always there. */
function priceOf(payable: Payable<Env>): number {
  if (payable.route === "videos") return 100_000;
  if (payable.route === "images") return 40_000;
  return mostTokens(payable);
}
