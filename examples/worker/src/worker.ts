import { createProxy } from "@sluice/worker-proxy";
import { type Env, options } from "./options.js";

/** The Worker of wrangler.jsonc: it adds the gateway's key, and stores nothing. */
export default createProxy<Env>(options);
