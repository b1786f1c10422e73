import { readJSON } from "./body.js";
import { checkOrigin, corsHeadersOf, preflight } from "./cors.js";
import type { ProxyEvent } from "./events.js";
import {
  checkedOptions,
  originsOf,
  type ProxyOptions,
  type Settings,
  setupOf,
  type User,
} from "./options.js";
import { allowedBody } from "./policy.js";
import { errorBody, misconfigured, Refusal } from "./refusal.js";
import { relayEvents, relayJSON } from "./relay.js";
import { type Match, matchesOf } from "./routes.js";
import { ask, passedHeadersOf, refusalOf, type Upstream } from "./upstream.js";

/** What a Worker exports; `fetch` serves any host that speaks `Request` and `Response`. */
export interface Proxy<Env = unknown> {
  readonly fetch: (request: Request, env?: Env, context?: unknown) => Promise<Response>;
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
export function createProxy<Env = unknown>(options: ProxyOptions<Env>): Proxy<Env> {
  const settings = checkedOptions(options);
  return { fetch: (request, env) => answer(settings, request, env as Env) };
}

/** What is known of a request, as far as it has come through the gates. */
type Progress = { -readonly [Key in keyof ProxyEvent]?: ProxyEvent[Key] };

async function answer<Env>(settings: Settings<Env>, request: Request, env: Env): Promise<Response> {
  const startedAt = Date.now();
  const progress: Progress = {};
  let cors: Record<string, string> = { vary: "Origin" };
  const report = (status: number, code?: string) => {
    const event = {
      ...progress,
      method: request.method,
      status,
      ms: Date.now() - startedAt,
      ...(code && { code }),
    };
    settings.onEvent?.(event, env);
  };
  try {
    const origin = request.headers.get("origin");
    const matches = matchesOf(request.url, settings.basePath, settings.routes);
    const match = methodOf(request, matches);
    const allowed = originsOf(settings, env);
    cors = corsHeadersOf(origin, allowed);
    checkOrigin(origin, allowed);
    if (!match) return preflight(matches.map(({ route }) => route.method).join(", "), cors);
    progress.route = match.route.name;
    const upstream = await forward(settings, request, env, match, progress);
    return relay(upstream, settings.limits.idleMs, { ...cors, ...upstream.headers }, report);
  } catch (error) {
    const refusal = error instanceof Refusal ? error : misconfigured();
    report(refusal.status, refusal.code);
    return new Response(errorBody(refusal), {
      // 499 is for the log: nobody is there to read it, and it is no status that a Response may have everywhere
      status: refusal.status === 499 ? 408 : refusal.status,
      headers: {
        "x-sluice-source": "proxy",
        ...refusal.headers,
        ...cors,
        ...own,
        "content-type": "application/json",
      },
    });
  }
}

/** Headers that every answer has: nothing of it is kept anywhere, or taken for another type than it is. */
const own = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** @throws {Refusal} 405 for a method that the path does not have; a preflight has no match and no refusal */
function methodOf({ method }: Request, matches: readonly Match[]): Match | undefined {
  if (method === "OPTIONS") return undefined;
  const match = matches.find(({ route }) => route.method === method);
  if (match) return match;
  const allow = [...new Set(matches.map(({ route }) => route.method)), "OPTIONS"].join(", ");
  throw new Refusal(405, "method_not_allowed", `use ${allow}`, { headers: { allow } });
}

/** From authentication to the gateway's headers. */
async function forward<Env>(
  settings: Settings<Env>,
  request: Request,
  env: Env,
  match: Match,
  progress: Progress,
): Promise<Upstream & { readonly headers: Record<string, string> }> {
  progress.userId = (await userOf(settings, request, env)).id;
  const setup = await setupOf(settings, env, new URL(request.url).host);
  const { route } = match;
  let body: Record<string, unknown> | undefined;
  if (route.method === "POST") {
    const allowed = allowedBody(
      await readJSON(request, route, settings.limits),
      route,
      setup,
      settings.limits,
    );
    progress.model = allowed.model;
    body = allowed;
  }
  const upstream = await ask(settings, setup, match, body, request.signal);
  if (!upstream.response.ok) throw await refusalOf(upstream, setup);
  return { ...upstream, headers: passedHeadersOf(upstream.response, setup.apiKey) };
}

/** @throws {Refusal} 401 for nobody, 503 when that can't be told */
async function userOf<Env>({ authenticate }: Settings<Env>, request: Request, env: Env): Promise<User> {
  if (authenticate === "public") return { id: "public" };
  let user: User | null;
  try {
    user = await authenticate(request, env);
  } catch {
    throw new Refusal(503, "authentication_unavailable", "who is asking can't be told just now; try again");
  }
  if (!user) throw new Refusal(401, "unauthenticated", "sign in: the proxy does not know who is asking");
  return user;
}

function relay(
  upstream: Upstream,
  idleMs: number,
  headers: Record<string, string>,
  report: (status: number, code?: string) => void,
): Response {
  let reported = false;
  const onEnd = (code?: string) => {
    if (reported) return;
    reported = true;
    report(code === "client_left" ? 499 : 200, code);
  };
  const type = upstream.response.headers.get("content-type") ?? "";
  const all = { ...headers, ...own, "x-sluice-source": "upstream" };
  if (/^text\/event-stream\b/i.test(type))
    return new Response(relayEvents({ upstream, idleMs, onEnd }), {
      headers: { ...all, "content-type": "text/event-stream; charset=utf-8" },
    });
  if (!/^application\/json\b/i.test(type)) {
    upstream.abort();
    throw new Refusal(
      502,
      "upstream_type",
      "the gateway answered with something that is no JSON and no event stream",
    );
  }
  return new Response(relayJSON({ upstream, idleMs, onEnd }), {
    headers: { ...all, "content-type": "application/json" },
  });
}
