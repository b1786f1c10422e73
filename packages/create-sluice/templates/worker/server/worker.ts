import { answer } from "./answer.ts";

/** The Worker of wrangler.jsonc. */
export default { fetch: answer };
