import { readJSON, refuseBody } from "./body.js";
import { type Call, openCall } from "./call.js";
import { checkOrigin, corsHeadersOf, preflight } from "./cors.js";
import type { ProxyEvent } from "./events.js";
import {
  checkedOptions,
  originsOf,
  type ProxyContext,
  type ProxyOptions,
  type Settings,
  type Setup,
  setupOf,
  type User,
} from "./options.js";
import { allowedBody } from "./policy.js";
import { errorBody, misconfigured, Refusal } from "./refusal.js";
import { relay } from "./relay.js";
import { type Match, matchesOf } from "./routes.js";
import { ask, passedHeadersOf, refusalOf } from "./upstream.js";

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

/** What is known of a request, as far as it has come through the gates. */
type Progress = { -readonly [Key in keyof ProxyEvent]?: ProxyEvent[Key] };
type Report = (status: number, code?: string) => void;

async function answer<Env>(
  settings: Settings<Env>,
  request: Request,
  env: Env,
  context: ProxyContext | undefined,
): Promise<Response> {
  const progress: Progress = {};
  const report = reporter(settings, request, progress, env, context);
  let cors: Record<string, string> = { vary: "Origin" };
  let response: Response;
  try {
    // worked out first, though its turn as a gate comes later: a page should be able to read each refusal
    const origin = request.headers.get("origin");
    const allowed = await originsOf(settings, env);
    cors = corsHeadersOf(origin, allowed, settings.credentials);

    const matches = matchesOf(request.url, settings.basePath, settings.routes);
    const match = methodOf(request, matches);
    checkOrigin(origin, allowed);
    if (match) response = await serve(settings, request, env, match, progress, report);
    else response = preflight(request, matches.map(({ route }) => route.method).join(", "));
  } catch (error) {
    const refusal = error instanceof Refusal ? error : misconfigured("failed in a way it should not");
    report(refusal.status, refusal.code);
    response = new Response(errorBody(refusal), {
      // 499 is for the log: nobody is there to read it
      status: refusal.status === 499 ? 408 : refusal.status,
      headers: { "x-sluice-source": "proxy", ...refusal.headers, "content-type": "application/json" },
    });
  }
  for (const [name, value] of Object.entries({ ...cors, ...own })) response.headers.set(name, value);
  return response;
}

/** Headers that every answer has: nothing of it is kept anywhere, or taken for another type than it is. */
const own = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** Tells `onEvent`, once. */
function reporter<Env>(
  { onEvent }: Settings<Env>,
  { method }: Request,
  progress: Progress,
  env: Env,
  context: ProxyContext | undefined,
): Report {
  const startedAt = Date.now();
  let isTold = false;
  return (status, code) => {
    if (isTold) return;
    isTold = true;
    try {
      onEvent?.(
        { ...progress, method, status, ms: Date.now() - startedAt, ...(code && { code }) },
        env,
        context,
      );
    } catch {}
  };
}

/** @throws {Refusal} 405 for a method that the path does not have; a preflight has no match and no refusal */
function methodOf({ method, headers }: Request, matches: readonly Match[]): Match | undefined {
  if (method === "OPTIONS" && headers.has("origin")) return undefined;
  const match = matches.find(({ route }) => route.method === method);
  if (match) return match;
  const allow = [...matches.map(({ route }) => route.method), "OPTIONS"].join(", ");
  throw new Refusal(405, "method_not_allowed", `use ${allow}`, { headers: { allow } });
}

/** From authentication to the gateway's answer. */
async function serve<Env>(
  settings: Settings<Env>,
  request: Request,
  env: Env,
  match: Match,
  progress: Progress,
  report: Report,
): Promise<Response> {
  const { route } = match;
  const { limits } = settings;
  progress.route = route.name;
  progress.userId = (await userOf(settings, request, env)).id;
  const setup = await setupOf(settings, env, new URL(request.url).host);
  let body: (Record<string, unknown> & { readonly model: string }) | undefined;
  if (route.method === "GET") refuseBody(request);
  else body = allowedBody(await readJSON(request, route, limits), route, setup, limits);
  if (body) progress.model = body.model;

  const call = openCall(request.signal, limits.totalMs);
  try {
    const response = await ask(settings, setup, match, body, env, call);
    if (!response.ok) throw await refusalOf({ response, call }, setup, limits.idleMs);
    return passOn(response, call, setup, limits.idleMs, report);
  } catch (error) {
    call.close();
    throw error;
  }
}

/** @throws {Refusal} 401 for nobody, 503 when that can't be told */
async function userOf<Env>({ authenticate }: Settings<Env>, request: Request, env: Env): Promise<User> {
  if (authenticate === "public") return { id: "public" };
  let user: User | null = null;
  // two headers arrive joined, and which of them a check would read is anybody's guess
  if (!request.headers.get("authorization")?.includes(","))
    try {
      user = await authenticate(request, env);
    } catch {
      throw new Refusal(503, "authentication_unavailable", "who is asking can't be told now; try again");
    }
  if (!user) throw new Refusal(401, "unauthenticated", "sign in: the proxy does not know who is asking");
  if (typeof user.id !== "string" || user.id === "")
    throw misconfigured("authenticate: must return { id }, a text, or null");
  return user;
}

/** @throws {Refusal} 502 for what is no JSON and no event stream */
function passOn(response: Response, call: Call, { apiKey }: Setup, idleMs: number, report: Report): Response {
  const { body, status, headers } = response;
  const [type] =
    /^(?:application\/json|text\/event-stream)(?=\s*(?:;|$))/i.exec(headers.get("content-type") ?? "") ?? [];
  if (!body || !type)
    throw new Refusal(502, "upstream_type", "the gateway answered with no JSON and no event stream");
  const isEvents = type.toLowerCase() === "text/event-stream";
  const onEnd = (code?: string) => report(code === "client_left" ? 499 : status, code);
  return new Response(relay(body, call, { idleMs, isEvents, onEnd }), {
    status,
    headers: {
      ...passedHeadersOf(response, apiKey),
      "x-sluice-source": "upstream",
      "content-type": type.toLowerCase(),
    },
  });
}
