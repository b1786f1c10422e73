import { idempotency, resumableStreams } from "@sluice/durable";
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
    // an image or a video that is requested again with its key is paid once
    idempotency<Env>(),
    // a response continues after a reload, and is stored for 10 minutes after its end
    resumableStreams<Env>(),
  ],
});

/** The Durable Object of a user: it stores the rows of all plugins, and runs their jobs. */
export class Sluice extends durableObject(proxy) {}

/**
 * The same code as two Workers: the objects of wrangler.objects.jsonc read the gateway's streams, and a deploy of
 * wrangler.front.jsonc, which users reach, ends none of them.
 */
export default proxy;
