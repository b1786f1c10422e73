import type { ProxyContext } from "@sluice/worker-proxy";
import handler from "@tanstack/react-start/server-entry";
import { answer } from "./answer.ts";
import type { Env } from "./proxy.ts";

/** The Worker of wrangler.jsonc: the routes under /api, and the pages. */
export default {
  fetch(request: Request, env: Env, context: ProxyContext) {
    const isOurs = new URL(request.url).pathname.startsWith("/api/");
    return isOurs ? answer(request, env, context) : handler.fetch(request);
  },
};
