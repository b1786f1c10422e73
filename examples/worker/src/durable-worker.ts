import { createProxy, type Payable } from "@sluice/worker-proxy";
import { budget, type ObjectNamespace, videoEvents, videoWatch } from "@sluice/worker-proxy/durable";
import { type Env as CommonEnv, options } from "./options.js";

interface Env extends CommonEnv {
  readonly BUDGET: ObjectNamespace;
  readonly VIDEO_WATCH: ObjectNamespace;
  // readonly STREAM_LOG: ObjectNamespace;
}

export { Budget } from "@sluice/worker-proxy/durable";

/** Asks for a video task once, however many tabs show it. */
export const VideoWatch = videoWatch<Env>(options);

// Experimental: chat streams that survive a reload. Answers are kept in the object for 10 minutes. With it, import
// `streamLog` and `streamLogObject`, bind and migrate the class in wrangler.durable.jsonc, and add
// `streamLog((env) => env.STREAM_LOG)` to the extensions.
// export const StreamLog = streamLogObject<Env>(options);

/** What a day's worth of one user's requests may cost, in tokens; what is no chat is given a price in them. */
const DAILY_TOKENS = 500_000;

/** The Worker of wrangler.durable.jsonc: the same, with a budget for each user and videos that are pushed. */
export default createProxy<Env>({
  ...options,
  meter: budget<Env>({
    namespace: (env) => env.BUDGET,
    limits: { user: DAILY_TOKENS, address: 4 * DAILY_TOKENS },
    windowMs: 24 * 60 * 60 * 1000,
    reserveFor: priceOf,
  }),
  extensions: [videoEvents((env) => env.VIDEO_WATCH)],
});

/** The most that a request can cost, about. The caps of options.ts see to it that `max_tokens` is always there. */
function priceOf({ route, body }: Payable<Env>): number {
  if (route === "videos") return 100_000;
  if (route === "images") return 40_000;
  // about four letters of a prompt are one token
  return Number(body?.["max_tokens"]) + Math.ceil(JSON.stringify(body).length / 4);
}
