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
    // a video task is polled once for all tabs that show it
    videoWatch<Env>(),
    // Import these, too, as src/streams-worker.ts does. `idempotency<Env>()`: an image or a video that is requested again
    // with its key is paid once. `resumableStreams<Env>()`: a response goes on after a reload.
  ],
});

/** The Durable Object of a user: it stores the rows of all plugins, and runs their jobs. */
export class Sluice extends durableObject(proxy) {}

/** The Worker of wrangler.durable.jsonc. */
export default proxy;
