import type { GatewayConnection } from "./api/host.js";
import type { ProxyOptions } from "./api/options.js";
import type { AdmittedRequest, ProxyContext, User } from "./api/plugin.js";
import { admit } from "./checks/admit.js";
import type { FindOperator } from "./checks/operator.js";
import { checkOrigin, createCorsHeaders, respondToPreflight } from "./checks/origin.js";
import { findRoutes, isPoll, listMethods, type Match, matchRequest } from "./checks/path.js";
import { checkRate } from "./checks/rate.js";
import { findUser } from "./checks/sign-in.js";
import { openCall } from "./gateway/call.js";
import type { Exchange } from "./gateway/exchange.js";
import { readRefusal } from "./gateway/read-refusal.js";
import { sendRequest } from "./gateway/request.js";
import { passResponse } from "./gateway/respond.js";
import { isCredential } from "./refusals/log.js";
import { Refusal, toRefusal } from "./refusals/refusal.js";
import { refuse } from "./refusals/refuse.js";
import { type Incoming, isTraceparent, openReport, type Report } from "./refusals/report.js";
import { openServer } from "./server.js";
import { checkOptions, type Settings } from "./settings.js";

/** The default export of a Worker; `fetch` serves any host that speaks `Request` and `Response`. */
export interface GatewayProxy<Env = unknown> {
  readonly fetch: (request: Request, env?: Env, context?: ProxyContext) => Promise<Response>;
}

/** The user of a request for a link, which needs no sign-in. */
const NOBODY: User = { id: "" };

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
 * Serves a request, and turns its errors into a response. Every response has CORS headers: a page can read the reason of a
 * refusal.
 *
 * @param sender the user of a request of the operator's own code, see `connectAs`
 */
async function respond<Env>(
  settings: Settings<Env>,
  incoming: Incoming<Env>,
  sender?: User,
): Promise<Response> {
  const report = openReport(settings, incoming);
  // no cache stores a response, and no browser takes it for another type
  const headers: Record<string, string> = {
    vary: "Origin",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  const response = await serve(settings, incoming, { report, headers, sender }).catch((error: unknown) =>
    refuse(toRefusal(error), report, { ...incoming, log: settings.log }),
  );
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

/** The record of a request, and the headers of its response. */
interface Served {
  readonly report: Report;
  readonly headers: Record<string, string>;
  readonly sender: User | undefined;
}

/**
 * Leads a request through the checks, in their order, to the gateway and back.
 *
 * @throws {Refusal} the reason for which the request does not get there
 */
async function serve<Env>(
  settings: Settings<Env>,
  incoming: Incoming<Env>,
  { report, headers, sender }: Served,
): Promise<Response> {
  const { request, env } = incoming;
  const { plugins, isPublic } = settings;
  const { known } = report;
  const origins = await settings.readOrigins(env);
  Object.assign(headers, createCorsHeaders(request, origins, settings.credentials));
  const found = findRoutes(request.url, settings);
  const [first] = found.matches;
  const isHidden = first?.route.name === "admin";
  const operator = isHidden && !sender ? await findOperator(settings, incoming, first, report) : undefined;
  // only an operator learns that the path exists; the operator's own code sends to the gateway alone
  if (sender || (isHidden && !operator)) found.matches = found.matches.filter(({ route }) => !route.plugin);
  const isPreflight = request.method === "OPTIONS" && request.headers.has("origin");
  const match = isPreflight ? undefined : matchRequest(request, found, settings);
  checkOrigin(request, origins);
  if (!match) return respondToPreflight(request, listMethods(found.matches));
  const { route } = match;
  const { plugin } = route;
  known.route = route.name;
  // on refusals, too: a client decides by them if it may repeat a request
  const offers = plugins.flatMap(({ offers }) => offers?.[route.name] ?? []);
  if (offers.length > 0) headers["x-sluice-offers"] = offers.join(", ");
  const isLink = plugin?.isPublic === true;
  const user = operator ?? sender ?? (isLink ? NOBODY : await findUser(settings.authenticate, request, env));
  if (!isLink) known.user = user.id;
  // in an outage, operators must get through
  if (settings.rateLimit && !operator && !isLink)
    await checkRate(settings.rateLimit, { request, env, user }, route);
  const signedIn = {
    ...incoming,
    user,
    route: route.name,
    path: route.path,
    ...(isPublic && { isPublic }),
  };
  if (plugin?.isRaw) return await serveRaw(match, signedIn, report, headers);
  const [gateway, models, secrets] = await Promise.all([
    settings.connect(env, found.host),
    settings.readModels(env),
    settings.readSecrets(env),
  ]);
  const tenancy = secrets.length > 0 ? route.group?.ids?.createTenancy(secrets, user) : undefined;
  const admitted = await admit(match, signedIn, { ...settings, models, secrets, tenancy });
  if (admitted.model !== undefined) known.model = admitted.model;
  if (operator && typeof admitted.body?.["user"] === "string") known.target = admitted.body["user"];
  return await forward(settings, admitted, { route, report, tenancy, gateway });
}

/** An admitted request, on its way to the gateway. */
interface Forwarded extends Pick<Exchange<never>, "route" | "report" | "tenancy"> {
  readonly gateway: GatewayConnection;
}

/**
 * Sends an admitted request to a plugin or to the gateway, and passes the response on.
 *
 * @throws {Refusal} the refusal of a plugin or of the gateway
 */
async function forward<Env>(
  settings: Settings<Env>,
  admitted: AdmittedRequest<Env>,
  { route, report, tenancy, gateway }: Forwarded,
): Promise<Response> {
  const { plugins, timeout } = settings;
  for (const plugin of plugins) await runPlugin(() => plugin.checkRequest?.(admitted));
  if (admitted.body?.["stream"] === true) settings.countStream?.(admitted.user.id, report);
  const added = await readHeaders(settings, admitted, report);
  const headers = { ...added, "x-request-id": report.known.requestId };
  report.secrets.push(...Object.values(headers));
  const credentials = Object.entries(added).flatMap(([name, value]) => (isCredential(name) ? value : []));
  const keys = [...gateway.apiKeys, ...credentials];
  const call = openCall(admitted.request.signal, route.plugin ? undefined : timeout.totalMs);
  const sent = { ...admitted, headers };
  const exchange: Exchange<Env> = { admitted: sent, route, report, call, keys, tenancy, settings };
  try {
    const limit = { ms: timeout.firstChunkMs, late: "upstream_timeout" } as const;
    const ask = () => askPlugins(settings, exchange);
    const own = plugins.length > 0 ? await call.wait(ask, "upstream_unreachable", limit) : undefined;
    const response = own ?? (await askGateway(settings, exchange, gateway));
    if (!response.ok) throw await readRefusal({ response, call }, keys, timeout.chunkMs);
    return await passResponse(exchange, response, own !== undefined);
  } catch (error) {
    exchange.account?.close((error instanceof Refusal && error.details.outcome) || "unknown");
    call.close();
    throw error;
  }
}

/** Finds the operator that a path is open to. */
async function findOperator<Env>(
  settings: Settings<Env>,
  incoming: Incoming<Env>,
  { route }: Match,
  report: Report,
): Promise<User | undefined> {
  const find = route.plugin?.findOperator as FindOperator<Env> | undefined;
  return await find?.(settings, incoming, route, report);
}

/** Returns the response of a plugin that reads and sends bytes. They say themselves how long they may be stored. */
async function serveRaw<Env>(
  { route, sentId }: Match,
  signedIn: Omit<AdmittedRequest<Env>, "id" | "sentId">,
  report: Report,
  headers: Record<string, string>,
): Promise<Response> {
  const admitted = { ...signedIn, ...(sentId !== undefined && { id: sentId, sentId }) };
  const response = await runPlugin(() => route.plugin?.serve(admitted as AdmittedRequest<never>));
  if (!response) throw new Refusal("not_found");
  if (response.headers.has("cache-control")) delete headers["cache-control"];
  report.end(response.status);
  return new Response(response.body, response);
}

async function askGateway<Env>(
  { meter, reading }: Settings<Env>,
  exchange: Exchange<Env>,
  gateway: GatewayConnection,
): Promise<Response> {
  const { admitted, route, report } = exchange;
  const { id, body, headers } = admitted;
  const path = id === undefined ? route.path : route.path.replace("{id}", id);
  // reserved last: a request that the proxy or a plugin refuses costs nothing
  if (meter && reading && !isPoll(route))
    exchange.account = await reading.openAccount(meter, admitted, (paid) => {
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
  { plugins, meter }: Settings<Env>,
  { route, admitted }: Exchange<Env>,
): Promise<Response | undefined> {
  return await runPlugin(async () => {
    let response = route.plugin?.serve(admitted as AdmittedRequest<never>);
    for (const plugin of plugins) response ??= plugin.send?.(admitted, meter !== undefined);
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
