import { streamLog } from "@sluice/durable";
import { createProxy } from "@sluice/worker-proxy";
import { type Env, meter } from "./meter.js";
import { options } from "./options.js";

/** The Worker of wrangler.front.jsonc: a deploy of it ends no answer, since its objects are in another Worker. */
export default createProxy<Env>({
  ...options,
  models: { "alpha-v4.1-flash": { max_tokens: 8192 }, "delta-5.3": { max_tokens: 8192 } },
  plugins: [meter, streamLog((env) => env.STREAM_LOG)],
});
