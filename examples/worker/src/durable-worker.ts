import { videoWatch } from "@sluice/durable";
import { cloudflareHost, durableObject } from "@sluice/durable/cloudflare";
import { createProxy } from "@sluice/worker-proxy";
import { createBudget, type Env } from "./budget.js";
import { options } from "./options.js";

const proxy = createProxy<Env>({
  ...options,
  host: cloudflareHost((env) => env.SLUICE),
  plugins: [
    ...options.plugins,
    createBudget(),
    // the object polls each video task once, for all tabs
    videoWatch<Env>(),
    // Add these, too, as src/streams-worker.ts does. `idempotency<Env>()`: a repeated request with the same key is paid
    // once. `resumableStreams<Env>()`: a response continues after a reload.
  ],
});

/** The Durable Object of a user: it stores the rows of all plugins, and runs their jobs. */
export class Sluice extends durableObject(proxy) {}

/** The Worker of wrangler.durable.jsonc. */
export default proxy;
