import type { ProxyOptions } from "./api/options.js";
import type { AdmittedRequest, ProxyContext, User } from "./api/plugin.js";
import { admit } from "./checks/admit.js";
import { findOperator } from "./checks/operator.js";
import { checkOrigin, createCorsHeaders, respondToPreflight } from "./checks/origin.js";
import { findRoutes, isPoll, listMethods, type Match, matchRequest } from "./checks/path.js";
import { checkRate } from "./checks/rate.js";
import { findUser } from "./checks/sign-in.js";
import { openCall } from "./gateway/call.js";
import type { Exchange } from "./gateway/exchange.js";
import { readRefusal } from "./gateway/read-refusal.js";
import { sendRequest } from "./gateway/request.js";
import { passResponse } from "./gateway/respond.js";
import { isCredential, logCause } from "./refusals/log.js";
import { Refusal, toRefusal } from "./refusals/refusal.js";
import { refuse } from "./refusals/refuse.js";
import { isTraceparent, openReport, type Report } from "./refusals/report.js";
import { openServer } from "./server.js";
import { checkOptions, type Settings } from "./settings.js";

/** The default export of a Worker; `fetch` serves any host that speaks `Request` and `Response`. */
export interface GatewayProxy<Env = unknown> {
  readonly fetch: (request: Request, env?: Env, context?: ProxyContext) => Promise<Response>;
}

/** The user of a request for a link, which needs no sign-in. */
const NOBODY: User = { id: "" };

/** A request as it comes in. */
type Incoming<Env> = Pick<AdmittedRequest<Env>, "request" | "env" | "context">;

/**
 * Creates the proxy that adds the gateway's key. It serves the routes and models that are listed, and the users that
 * `authenticate` knows.
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
  const settings = checkOptions(options);
  const proxy: GatewayProxy<Env> = {
    fetch: (request, env, context) => respond(settings, { request, env: env as Env, context }),
  };
  openServer(proxy, settings, (request, user, env) =>
    respond(settings, { request, env, context: undefined }, user),
  );
  return proxy;
}

/**
 * Leads a request through the checks, and turns their errors into a response. Every response has CORS headers: a page can
 * read the reason of a refusal.
 *
 * @param known the user of a request of the operator's own code, see `connectAs`
 */
async function respond<Env>(
  settings: Settings<Env>,
  incoming: Incoming<Env>,
  known?: User,
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
  // no cache stores a response, and no browser takes it for another type
  const headers: Record<string, string> = {
    vary: "Origin",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  let response: Response;
  try {
    const allowed = await read.origins(env);
    Object.assign(headers, createCorsHeaders(request.headers.get("origin"), allowed, credentials));
    const found = findRoutes(request.url, settings);
    const [first] = found.matches;
    // only an operator learns that the path exists
    const isAdmin = first?.route.name === "admin";
    const operator =
      isAdmin && !known ? await findOperator(settings, incoming, first.route, report) : undefined;
    const isHidden = known ? found.matches.some(({ route }) => route.plugin) : isAdmin && !operator;
    if (isHidden) found.matches = [];
    const isPreflight = request.method === "OPTIONS" && request.headers.has("origin");
    const match = isPreflight ? undefined : matchRequest(request, found, settings);
    checkOrigin(request, allowed);
    if (match) {
      // on refusals, too: a client decides by them if it may repeat a request
      const offers = plugins.flatMap(({ offers }) => offers?.[match.route.name] ?? []);
      if (offers.length > 0) headers["x-sluice-offers"] = offers.join(", ");
      response = await serve(settings, incoming, match, { host: found.host, report, operator, known });
      // bytes of a plugin say themselves how long they may be stored
      if (match.route.plugin?.isRaw && response.headers.has("cache-control")) delete headers["cache-control"];
    } else response = respondToPreflight(request, listMethods(found.matches));
  } catch (error) {
    response = await refuse(toRefusal(error), { request, env, log, report });
  }
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

/** Facts about a request that the checks behind path and origin need. */
interface Served {
  readonly host: string;
  readonly report: Report;
  readonly operator: User | undefined;
  /** The user of a request of the operator's own code. */
  readonly known: User | undefined;
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
  { host, report, operator, known: knownUser }: Served,
): Promise<Response> {
  const { request, env } = incoming;
  const { upstream, read, plugins, isPublic } = settings;
  const { route } = match;
  const { known } = report;
  known.route = route.name;
  const isLink = route.plugin?.isPublic === true;
  const user =
    operator ?? knownUser ?? (isLink ? NOBODY : await findUser(settings.authenticate, request, env));
  if (!isLink) known.user = user.id;
  // in an outage, operators must get through
  if (settings.rateLimit && !operator && !isLink)
    await checkRate(settings.rateLimit, { request, env, user }, route);
  const signedIn = { ...incoming, user, route: route.name, path: route.path };
  if (route.plugin?.isRaw) return await serveRaw(settings, signedIn, match, report);
  const [gateway, models, secrets] = await Promise.all([
    upstream.open(env, host),
    read.models(env),
    read.secrets(env),
  ]);
  const tenancy = secrets.length > 0 ? route.group?.ids?.createTenancy(secrets, user) : undefined;
  const admitted = await admit(
    match,
    { ...signedIn, ...(isPublic && { isPublic }) },
    {
      ...settings,
      bodyLimits: { maxBytes: upstream.limits.maxBodyBytes, ms: upstream.timeout.bodyMs },
      maxDataURIBytes: upstream.limits.maxDataURIBytes,
      maxTokens: upstream.limits.maxTokens,
      models,
      secrets,
      tenancy,
    },
  );
  const { model, body } = admitted;
  if (model !== undefined) known.model = model;
  for (const plugin of plugins) await runPlugin(() => plugin.checkRequest?.(admitted));
  if (operator && typeof body?.["user"] === "string") known.target = body["user"];
  const isCounted = !isPublic && !plugins.some(({ boundsStreams }) => boundsStreams);
  if (isCounted && body?.["stream"] === true) report.atEnd(settings.countStream(user.id));
  const added = await readHeaders(settings, admitted, report);
  const headers = { ...added, "x-request-id": known.requestId };
  report.secrets.push(...Object.values(headers));
  // no response may hold them
  const keys = [...gateway.apiKeys];
  for (const [name, value] of Object.entries(added)) if (isCredential(name)) keys.push(value);
  const call = openCall(request.signal, route.plugin ? undefined : upstream.timeout.totalMs);
  const exchange: Exchange<Env> = { admitted: { ...admitted, headers }, route, report, call };
  const { chunkMs } = upstream.timeout;
  try {
    const limit = { ms: upstream.timeout.firstChunkMs, late: "upstream_timeout" } as const;
    const own = await call.wait(() => askPlugins(settings, exchange), "upstream_unreachable", limit);
    const response = own ?? (await askGateway(settings, exchange, gateway));
    if (!response.ok) throw await readRefusal({ response, call }, keys, chunkMs);
    const rules = { keys, chunkMs, readStream: settings.reading?.readStream, tenancy, plugins };
    return await passResponse(exchange, response, rules, own !== undefined);
  } catch (error) {
    exchange.account?.close((error instanceof Refusal && error.details.outcome) || "unknown");
    call.close();
    throw error;
  }
}

/** Returns the response of a plugin that reads and sends bytes. */
async function serveRaw<Env>(
  settings: Settings<Env>,
  signedIn: Omit<AdmittedRequest<Env>, "id" | "sentId">,
  { route, sentId }: Match,
  report: Report,
): Promise<Response> {
  const admitted = { ...signedIn, ...(sentId !== undefined && { id: sentId, sentId }) };
  const response = await askPlugins(settings, { route, admitted });
  if (!response) throw new Refusal("not_found");
  report.end(response.status);
  return new Response(response.body, response);
}

async function askGateway<Env>(
  { upstream, reading }: Settings<Env>,
  exchange: Exchange<Env>,
  gateway: Awaited<ReturnType<typeof upstream.open>>,
): Promise<Response> {
  const { admitted, route, report } = exchange;
  const { id, body, headers } = admitted;
  const path = id === undefined ? route.path : route.path.replace("{id}", id);
  // reserved last: a request that the proxy or a plugin refuses costs nothing
  if (upstream.meter && reading && !isPoll(route))
    exchange.account = await reading.openAccount(upstream.meter, admitted, (paid) => {
      Object.assign(report.known, paid);
    });
  return await sendRequest(gateway, { method: route.method, path, body, headers }, exchange);
}

/**
 * Returns the response of a plugin in the gateway's place, if one gives any.
 *
 * @throws {Refusal} 503 where the plugin fails
 */
async function askPlugins<Env>(
  { plugins, upstream }: Settings<Env>,
  { route, admitted }: Pick<Exchange<Env>, "route" | "admitted">,
): Promise<Response | undefined> {
  return await runPlugin(async () => {
    let response = route.plugin?.serve(admitted as AdmittedRequest<never>);
    for (const plugin of plugins) response ??= plugin.send?.(admitted, upstream.meter !== undefined);
    return await response;
  });
}

/** Runs code of a plugin that decides about a request. @throws {Refusal} the plugin's, or 503 where it fails */
async function runPlugin<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("extension_unavailable", { problem: "plugins failed", cause: error });
  }
}

/** Reads the headers that plugins add, and the `traceparent` of the proxy's own span, or else the client's. */
async function readHeaders<Env>(
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
      const own = plugin.traceparent?.(begun);
      if (isTraceparent(own)) known.ownTraceparent = headers["traceparent"] = own;
    } catch (error) {
      logFailure("traceparent", error);
    }
  }
  return headers;
}
