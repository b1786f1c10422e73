import type { ProxyOptions } from "./api/options.js";
import type { AdmittedRequest, ProxyContext, User } from "./api/plugin.js";
import { isGatewayRoute } from "./api/routes.js";
import { wellFormed } from "./base/traceparent.js";
import { admit } from "./checks/admit.js";
import { hasOwnFields } from "./checks/field-table.js";
import { tenancyOf } from "./checks/ids.js";
import { operatorOf } from "./checks/operator.js";
import { checkOrigin, corsHeadersOf, preflight } from "./checks/origin.js";
import { find, isPoll, type Match, matchFor } from "./checks/path.js";
import { checkRate } from "./checks/rate.js";
import { userOf } from "./checks/sign-in.js";
import { passOn } from "./gateway/answer.js";
import { openCall } from "./gateway/call.js";
import type { Exchange } from "./gateway/exchange.js";
import { refusalOf } from "./gateway/read-json.js";
import { ask, type Gateway } from "./gateway/request.js";
import { healthOf } from "./health.js";
import { openInside } from "./inside.js";
import { isCredential, logCause } from "./refusals/log.js";
import { Refusal, refusalIn } from "./refusals/refusal.js";
import { refuse } from "./refusals/refuse.js";
import { openReport, type Report } from "./refusals/report.js";
import { openServer, type Server } from "./server.js";
import { checkedOptions, type Settings } from "./settings.js";

/** The default export of a Worker; `fetch` serves any host that speaks `Request` and `Response`. */
export interface GatewayProxy<Env = unknown> {
  readonly fetch: (request: Request, env?: Env, context?: ProxyContext) => Promise<Response>;
}

/** The user of a request for a link, which needs no sign-in. */
const NOBODY: User = { id: "" };

/** A request as it comes in. */
type Incoming<Env> = Pick<AdmittedRequest<Env>, "request" | "env" | "context">;

/**
 * Makes the proxy that adds the gateway's key. It has only the routes of the spec, the models that are listed, and the
 * users that `authenticate` knows.
 *
 * @throws {TypeError} when an option is missing, unknown or can't work; the message says what to give
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
  const server = openServer(settings);
  const proxy: GatewayProxy<Env> = {
    fetch: (request, env, context) => answer(settings, { request, env: env as Env, context }),
  };
  openInside(proxy, {
    enter: (request, user, env, context) => answer(settings, { request, env: env as Env, context }, user),
    basePath: settings.basePath,
    keepsChats: settings.plugins.some(({ offers }) => offers?.["chat"]?.includes("chat-once")),
    server: server as Server<never>,
    keepsCreates: settings.plugins.some(({ offers }) => offers?.["images"]?.includes("once")),
  });
  return proxy;
}

/**
 * Leads a request through the checks, and turns what they throw into an answer. Every answer has CORS headers: a page can
 * read the reason of a refusal.
 *
 * @param inside the user of a request that comes from the operator's own code, see `innerWay`
 */
async function answer<Env>(
  settings: Settings<Env>,
  incoming: Incoming<Env>,
  inside?: User,
): Promise<Response> {
  const { request, env, context } = incoming;
  const { log, plugins, read, credentials } = settings;
  const logFailure = (option: string, error: unknown) => {
    const logged = logCause(`${option} failed`, error, { request, env, log });
    context?.waitUntil(logged);
  };
  const listeners = [...plugins, settings];
  const report = openReport(
    request,
    (event) => Promise.all(listeners.map(async ({ onEvent }) => onEvent?.(event, env, context))),
    logFailure,
  );
  // no cache keeps an answer, and no browser takes it for another type
  const headers: Record<string, string> = {
    vary: "Origin",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  let response: Response;
  try {
    let found = find(request.url, settings);
    const [first] = found.matches;
    const origin = request.headers.get("origin");
    // `GET /health` reports a problem of `origins` with all others
    const isHealth = first?.route.name === "health";
    const allowed = isHealth ? await originsOrNone() : await read.origins(env);
    Object.assign(headers, corsHeadersOf(origin, allowed, credentials));
    // nobody but an operator learns that there is a path of operators, and code inside has the gateway's routes alone
    let operator: User | undefined;
    if (first?.route.name === "admin")
      operator = inside ? undefined : await operatorOf(settings, incoming, first.route, report);
    const isHidden =
      first?.route.name === "admin"
        ? !operator
        : inside && !found.matches.every(({ route }) => isGatewayRoute(route.name));
    if (isHidden) found = { ...found, matches: [], methods: "" };
    const isPreflight = request.method === "OPTIONS" && origin !== null;
    const match = isPreflight ? undefined : matchFor(request, found);
    checkOrigin(request, allowed);
    if (match) {
      // on refusals, too: a client decides by them if it may repeat a request
      const offers = plugins.flatMap(({ offers }) => offers?.[match.route.name] ?? []);
      if (offers.length > 0) headers["x-sluice-offers"] = offers.join(", ");
      response = await serve(settings, incoming, match, {
        host: found.host,
        report,
        user: operator ?? inside,
        isOperator: operator !== undefined,
      });
      // bytes of a plugin say themselves how long they may be stored
      const { isRaw = false } = match.route.plugin ?? {};
      if (isRaw && response.headers.has("cache-control")) delete headers["cache-control"];
    } else response = preflight(request, found.methods);
  } catch (error) {
    response = await refuse(refusalIn(error), { request, env, log, report }, settings);
  }
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;

  async function originsOrNone(): Promise<readonly string[]> {
    try {
      return await read.origins(env);
    } catch {
      return [];
    }
  }
}

/** Facts about a request that the checks behind path and origin need. */
interface Served {
  readonly host: string;
  readonly report: Report;
  /** The user, where an operator or the operator's own code sends the request. */
  readonly user: User | undefined;
  readonly isOperator: boolean;
}

/**
 * Leads a request through the checks behind path and origin, in their order, to the gateway and back.
 *
 * @throws {Refusal} the reason for which the request does not get there
 */
async function serve<Env>(
  settings: Settings<Env>,
  incoming: Incoming<Env>,
  match: Match,
  { host, report, user: known, isOperator }: Served,
): Promise<Response> {
  const { request, env } = incoming;
  const { way, read, plugins, isPublic, log, includeUsage } = settings;
  const { route } = match;
  const facts = report.known;
  facts.route = route.name;
  if (route.name === "health") return await healthOf(settings, host, { request, env, log, report });
  const isLink = route.plugin?.isPublic === true;
  const user = known ?? (isLink ? NOBODY : await userOf(settings.authenticate, request, env));
  if (!isLink) facts.user = user.id;
  // in an outage, operators must get through
  if (!isOperator && !isLink) await checkRate(settings.rateLimit, { request, env, user }, route);
  if (route.plugin?.isRaw) return await serveRaw(settings, { ...incoming, user }, match, report);
  const [gateway, models, secrets] = await Promise.all([
    way.open(env, host),
    read.models(env),
    read.secrets(env),
  ]);
  const tenancy = secrets.length > 0 ? tenancyOf(secrets, user) : undefined;
  const asksUsage = (model: string) => way.meter !== undefined && (includeUsage ?? hasOwnFields(model));
  const asked = { ...incoming, user, route: route.name, path: route.path, ...(isPublic && { isPublic }) };
  const rules = { ...settings, ...way, models, tenancy, asksUsage };
  const admitted = await admit(match, asked, rules);
  if (admitted.model !== undefined) facts.model = admitted.model;
  for (const plugin of plugins) await decide(() => plugin.checkRequest?.(admitted));
  if (isOperator && typeof admitted.body?.["user"] === "string") facts.target = admitted.body["user"];
  const isCounted = !isPublic && !plugins.some(({ boundsStreams }) => boundsStreams);
  if (isCounted && admitted.body?.["stream"] === true) report.atEnd(settings.countStream(user.id));
  const added = await headersFor(settings, admitted, report);
  const headers = { ...added, "x-request-id": facts.requestId };
  report.secrets.push(...Object.values(headers));
  const call = openCall(request.signal, route.plugin ? undefined : way.timeout.totalMs);
  const exchange: Exchange<Env> = { admitted: { ...admitted, headers }, route, report, call };
  const { chunkMs } = way.timeout;
  const credentials = Object.entries(added).flatMap(([name, value]) => (isCredential(name) ? value : []));
  // no answer may hold them
  const keys = [...gateway.apiKeys, ...credentials];
  try {
    const limit = { ms: way.timeout.firstChunkMs, late: "upstream_timeout" } as const;
    const own = await call.wait(() => pluginAnswer(settings, exchange), "upstream_unreachable", limit);
    const response = own ?? (await ofGateway(settings, exchange, gateway, keys));
    if (!response.ok) throw await refusalOf({ response, call }, keys, chunkMs);
    const answered = { keys, chunkMs, readStream: settings.reading?.readStream, tenancy, plugins };
    return await passOn(exchange, response, answered, own !== undefined);
  } catch (error) {
    exchange.account?.close((error instanceof Refusal && error.details.outcome) || "unknown");
    call.close();
    throw error;
  }
}

/** Returns the response of a plugin that reads and sends bytes. */
async function serveRaw<Env>(
  settings: Settings<Env>,
  incoming: Incoming<Env> & Pick<AdmittedRequest<Env>, "user">,
  { route, sentId }: Match,
  report: Report,
): Promise<Response> {
  const id = sentId !== undefined && { id: sentId, sentId };
  const admitted = { ...incoming, route: route.name, path: route.path, ...id };
  const response = await pluginAnswer(settings, { route, admitted });
  if (!response) throw new Refusal("not_found");
  report.end(response.status);
  return new Response(response.body, response);
}

async function ofGateway<Env>(
  { way, reading, pollCache }: Settings<Env>,
  exchange: Exchange<Env>,
  gateway: Gateway,
  keys: readonly string[],
): Promise<Response> {
  const { admitted, route, report } = exchange;
  const { id, body, headers } = admitted;
  const path = id === undefined ? route.path : route.path.replace("{id}", id);
  const outgoing = { method: route.method, path, body, headers };
  const send = () => ask(gateway, outgoing, exchange);
  if (isPoll(route)) {
    const rules = { request: [gateway.baseURL, path, body], send, keys, chunkMs: way.timeout.chunkMs };
    return await (pollCache?.(exchange, rules) ?? send());
  }
  // reserved last: a request that the proxy or a plugin refuses costs nothing
  if (way.meter && reading)
    exchange.account = await reading.openAccount(way.meter, admitted, (paid) => {
      Object.assign(report.known, paid);
    });
  return await send();
}

/**
 * Returns the answer of a plugin in the gateway's place, if one gives any.
 *
 * @throws {Refusal} 503 where the plugin fails
 */
async function pluginAnswer<Env>(
  { plugins, way }: Settings<Env>,
  { route, admitted }: Pick<Exchange<Env>, "route" | "admitted">,
): Promise<Response | undefined> {
  return await decide(async () => {
    let answer = route.plugin?.serve(admitted as AdmittedRequest<never>);
    for (const plugin of plugins) answer ??= plugin.send?.(admitted, way.meter !== undefined);
    return await answer;
  });
}

/** Runs code of a plugin that decides about a request. @throws {Refusal} 503 where it fails */
async function decide<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // a refusal is the plugin's answer, as it is
    if (error instanceof Refusal) throw error;
    throw new Refusal("extension_unavailable", { problem: "plugins failed", cause: error });
  }
}

/** Reads the headers that plugins add, and the `traceparent` of the proxy's own span, or else the client's. */
async function headersFor<Env>(
  { plugins }: Settings<Env>,
  admitted: AdmittedRequest<Env>,
  { known, startedAt, logFailure }: Report,
): Promise<Record<string, string>> {
  const { traceparent } = known;
  const begun = { method: admitted.request.method, route: admitted.route, traceparent, startedAt };
  const headers: Record<string, string> = traceparent ? { traceparent } : {};
  for (const plugin of plugins) {
    Object.assign(headers, await plugin.headers?.(admitted));
    try {
      const own = wellFormed(plugin.traceparent?.(begun));
      if (own) known.ownTraceparent = headers["traceparent"] = own;
    } catch (error) {
      logFailure("traceparent", error);
    }
  }
  return headers;
}
