import type { ProxyContext } from "@sluice/worker-proxy";
import { isDevelopment, readOrigin } from "./development.ts";
import { type Env, proxy } from "./proxy.ts";
import { openSession } from "./sign-in.ts";

/** Handles a request under `/api`: sign-in, or a request for the gateway. */
export function respond(request: Request, env: Env, context?: ProxyContext): Promise<Response> {
  if (new URL(request.url).pathname === "/api/session") return openSession(request, env);
  // a development server may use another port
  const known = isDevelopment(request) ? { ...env, APP_URL: readOrigin(request) } : env;
  return proxy.fetch(request, known, context);
}
