import { respond } from "./respond.ts";

/** The Worker of wrangler.jsonc. */
export default { fetch: respond };
