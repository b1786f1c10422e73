import { budget, idempotency, maxTokens, resumableStreams, videoWatch } from "@sluice/durable";
import { cloudflareHost, type DurableObjectNamespace, durableObject } from "@sluice/durable/cloudflare";
import { createProxy, type Payable } from "@sluice/worker-proxy";
import { type Env as CommonEnv, options } from "./options.js";

interface Env extends CommonEnv {
  readonly SLUICE: DurableObjectNamespace;
}

/**
 * Tokens that may be spent in a day; what is no chat has a price in them. Whoever can get a new user id for nothing,
 * as an anonymous visitor can, is held by the limits of an address and of all.
 */
const limits = { user: 500_000, address: 2_000_000, all: { limit: 50_000_000, shards: 4 } };

const reserveTokens = maxTokens();

/** The most that a request can cost. The caps of options.ts see to it that `max_tokens` is always there. */
function reserve(payable: Payable<Env>): number {
  if (payable.route === "videos") return 100_000;
  if (payable.route === "images") return 40_000;
  return reserveTokens(payable);
}

const proxy = createProxy<Env>({
  ...options,
  host: cloudflareHost((env) => env.SLUICE),
  plugins: [
    ...options.plugins,
    // its `GET /v1/budget` tells users what they have left
    budget<Env>({ limits, windowMs: 24 * 60 * 60 * 1000, reserve }),
    // an image or a video that is requested again with its key is paid once
    idempotency<Env>(),
    // a response goes on after a reload, and is stored for 10 minutes after its end
    resumableStreams<Env>(),
    // a video task is polled once for all tabs that show it
    videoWatch<Env>(),
  ],
});

/** The Durable Object of a user: it stores the rows of all plugins, and runs their jobs. */
export class Sluice extends durableObject(proxy) {}

/** The Worker of wrangler.durable.jsonc, and of both halves of wrangler.objects.jsonc. */
export default proxy;
