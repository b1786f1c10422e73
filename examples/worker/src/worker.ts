import { createProxy } from "@sluice/worker-proxy";
import { type Env, options } from "./options.js";

/** The Worker of wrangler.jsonc: it holds the gateway's key, and keeps nothing. */
export default createProxy<Env>(options);
