import type { ProxyContext } from "@sluice/worker-proxy";
import handler from "@tanstack/react-start/server-entry";
import type { Env } from "./proxy.ts";
import { respond } from "./respond.ts";

/** The Worker of wrangler.jsonc: the routes under /api, and the pages. */
export default {
  fetch(request: Request, env: Env, context: ProxyContext) {
    const isOurs = new URL(request.url).pathname.startsWith("/api/");
    return isOurs ? respond(request, env, context) : handler.fetch(request);
  },
};
