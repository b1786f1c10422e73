import type { ProxyContext } from "./admitted.js";
import { checkOrigin, corsHeadersOf, preflight } from "./gates/origin.js";
import { type Match, type Matches, matchesOf } from "./gates/path.js";
import type { ProxyOptions } from "./options.js";
import { errorBody, misconfigured, Refusal } from "./refusal.js";
import { openReport, type Report } from "./report.js";
import { serve } from "./serve.js";
import { checkedOptions, originsOf, type Settings } from "./settings.js";

/** What a Worker exports; `fetch` serves any host that speaks `Request` and `Response`. */
export interface GatewayProxy<Env = unknown> {
  readonly fetch: (request: Request, env?: Env, context?: ProxyContext) => Promise<Response>;
}

/**
 * Makes the proxy that adds the gateway's key. Only the routes of the spec exist in it, only the listed models can
 * be asked, and only who `authenticate` knows can ask.
 *
 * @throws {TypeError} when an option is missing or can't work; the message says what to give
 * @example
 * ```ts
 * export default createProxy<Env>({
 *   baseURL: "https://gateway.example.com",
 *   apiKey: (env) => env.GATEWAY_API_KEY,
 *   authenticate: async (request, env) => userOfSession(request, env),
 *   origins: ["https://app.example.com"],
 *   models: ["delta-5.3"],
 * });
 * ```
 */
export function createProxy<Env = unknown>(options: ProxyOptions<Env>): GatewayProxy<Env> {
  const settings = checkedOptions(options);
  return { fetch: (request, env, context) => answer(settings, request, env as Env, context) };
}

async function answer<Env>(
  settings: Settings<Env>,
  request: Request,
  env: Env,
  context: ProxyContext | undefined,
): Promise<Response> {
  const report = openReport(request.method, (event) => settings.onEvent?.(event, env, context));
  let cors: Record<string, string> = { vary: "Origin" };
  let response: Response;
  try {
    const asked = matchesOf(request.url, settings);
    // worked out first, though its turn as a gate comes later: a page should be able to read each refusal
    const origin = request.headers.get("origin");
    const allowed = await originsOf(settings, env).catch((error: unknown) => {
      // it reports this problem with all others
      if (asked.matches.some(({ route }) => route.name === "health")) return [];
      throw error;
    });
    cors = corsHeadersOf(origin, allowed, settings.credentials);

    // a page learns why a request was refused only if its preflight was not
    const match = isPreflight(request) ? undefined : matchOf(request, asked);
    checkOrigin(origin, allowed);
    if (match) response = await serve(settings, { request, env, context }, match, report);
    else response = preflight(request, methodsOf(asked.matches));
  } catch (error) {
    const refusal = error instanceof Refusal ? error : misconfigured("a fault of the proxy's own", error);
    report.known.requestId = refusal.headers["x-request-id"] ?? report.known.requestId;
    report.end(refusal.status, refusal.code);
    settings.advise(refusal);
    if (refusal.status >= 500) {
      const subject = `${refusal.status} ${refusal.code}, request ${report.known.requestId}`;
      const { logCause } = await import("./causes.js");
      await logCause(subject, refusal, { request, env, settings, secrets: report.secrets });
    }
    response = refused(refusal, report);
  }
  for (const [name, value] of Object.entries({ ...cors, ...own })) response.headers.set(name, value);
  return response;
}

function refused(refusal: Refusal, { known }: Report): Response {
  return new Response(errorBody(refusal), {
    // 499 is for the log: nobody is there to read it
    status: refusal.status === 499 ? 408 : refusal.status,
    headers: {
      "x-request-id": known.requestId,
      "x-sluice-source": "proxy",
      ...refusal.headers,
      "content-type": "application/json",
    },
  });
}

/** Headers that every answer has: nothing of it is kept anywhere, or taken for another type than it is. */
const own = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

function isPreflight({ method, headers }: Request): boolean {
  return method === "OPTIONS" && headers.has("origin");
}

/** @throws {Refusal} 404 for a path that is not served, 400 for a query, 405 for a method that the path does not have */
function matchOf({ method }: Request, { matches, refusal }: Matches): Match {
  if (refusal) throw refusal;
  const match = matches.find(({ route }) => route.method === method);
  if (match) return match;
  const allow = `${methodsOf(matches)}, OPTIONS`;
  throw new Refusal(405, "method_not_allowed", `use ${allow}`, { headers: { allow } });
}

function methodsOf(matches: readonly Match[]): string {
  return matches.map(({ route }) => route.method).join(", ");
}
