import type { GatewayConnection } from "./api/host.js";
import type { ProxyOptions } from "./api/options.js";
import type { AdmittedRequest, ProxyContext, User } from "./api/plugin.js";
import { admit } from "./checks/admit.js";
import { checkOrigin, createCorsHeaders, respondToPreflight } from "./checks/origin.js";
import { findRoutes, listMethods, matchRequest } from "./checks/path.js";
import { checkRate } from "./checks/rate.js";
import { findUser } from "./checks/sign-in.js";
import { openCall } from "./gateway/call.js";
import type { Exchange } from "./gateway/exchange.js";
import { readRefusal } from "./gateway/read-refusal.js";
import { sendRequest } from "./gateway/request.js";
import { passResponse } from "./gateway/respond.js";
import { Refusal, toRefusal } from "./refusals/refusal.js";
import { refuse } from "./refusals/refuse.js";
import { type Incoming, openReport, type Report } from "./refusals/report.js";
import { checkOptions, proxies, type Registered, type ServeAs, type Settings } from "./settings.js";

/** The default export of a Worker; `fetch` serves any host that speaks `Request` and `Response`. */
export interface GatewayProxy<Env = unknown> {
  readonly fetch: (request: Request, env?: Env, context?: ProxyContext) => Promise<Response>;
}

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
  const serveAs: ServeAs<Env> = (request, user, env) =>
    respond(settings, { request, env, context: undefined }, user);
  proxies.set(proxy, { settings, serveAs } as unknown as Registered<never>);
  settings.run?.connect(proxy);
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
  const report = openReport(incoming.request);
  settings.run?.watch(report, incoming);
  const response = await serve(settings, incoming, report, sender).catch((error: unknown) =>
    refuse(toRefusal(error), report, { ...incoming, log: settings.log }),
  );
  for (const [name, value] of Object.entries(report.headers)) response.headers.set(name, value);
  return response;
}

/**
 * Leads a request through the checks, in their order, to the gateway and back.
 *
 * @throws {Refusal} the reason for which the request does not get there
 */
async function serve<Env>(
  settings: Settings<Env>,
  incoming: Incoming<Env>,
  report: Report,
  sender: User | undefined,
): Promise<Response> {
  const { request, env } = incoming;
  const { run, isPublic } = settings;
  const { known, headers } = report;
  const origins = await settings.readOrigins(env);
  const origin = request.headers.get("origin");
  Object.assign(headers, createCorsHeaders(origin, origins, settings.credentials));
  const found = findRoutes(request.url, settings);
  const operator = await run?.findOperator(settings, incoming, found, report, sender);
  const isPreflight = request.method === "OPTIONS" && origin !== null;
  const match = isPreflight ? undefined : matchRequest(request, found, settings);
  checkOrigin(origin, request, origins);
  if (!match) return respondToPreflight(request, listMethods(found.matches));
  const { route } = match;
  known.route = route.name;
  run?.addOffers(route, headers);
  const granted = operator ?? sender ?? run?.findGuest(route);
  const user = granted ?? (await findUser(settings.authenticate, request, env));
  const isGuest = user.id === "";
  if (!isGuest) known.userId = user.id;
  // in an outage, operators must get through
  if (settings.rateLimit && !operator && !isGuest)
    await checkRate(settings.rateLimit, { request, env, user }, route);
  const signedIn = { ...incoming, user, route: route.name, path: route.path, ...(isPublic && { isPublic }) };
  if (run && route.plugin?.isRaw) return await run.serveRaw(match, signedIn, report);
  const [gateway, models, secrets] = await Promise.all([
    settings.connect(env, found.host),
    settings.readModels(env),
    settings.readSecrets(env),
  ]);
  const tenancy = secrets.length > 0 ? route.group?.ids?.createTenancy(secrets, user) : undefined;
  const admitted = await admit(match, signedIn, settings, { models, secrets, tenancy });
  if (admitted.model !== undefined) known.model = admitted.model;
  return await forward(admitted, gateway, { route, report, tenancy, settings });
}

/**
 * Sends an admitted request to a plugin or to the gateway, and passes the response on.
 *
 * @throws {Refusal} the refusal of a plugin or of the gateway
 */
async function forward<Env>(
  request: AdmittedRequest<Env>,
  gateway: GatewayConnection,
  begun: Pick<Exchange<Env>, "route" | "report" | "tenancy"> & { readonly settings: Settings<Env> },
): Promise<Response> {
  const { route, report, settings } = begun;
  const { run, timeout } = settings;
  const { known } = report;
  const { id, body } = request;
  await run?.checkRequest(request, report);
  if (body?.["stream"] === true) settings.countStream?.(request.user.id, report);
  const keys = [...gateway.apiKeys];
  const headers = {
    ...(known.traceparent && { traceparent: known.traceparent }),
    ...(await run?.readHeaders(request, report, keys)),
    "x-request-id": known.requestId,
  };
  const call = openCall(request.request.signal, route.plugin ? undefined : timeout.totalMs);
  const exchange: Exchange<Env> = { ...begun, admitted: { ...request, headers }, call, keys };
  try {
    const own = await run?.send(exchange);
    const path = id === undefined ? route.path : route.path.replace("{id}", id);
    const response =
      own ?? (await sendRequest(gateway, { method: route.method, path, body, headers }, exchange));
    if (!response.ok) throw await readRefusal({ response, call }, keys, timeout.chunkMs);
    return await passResponse(exchange, response, own && run?.findPasser(own));
  } catch (error) {
    exchange.account?.close((error instanceof Refusal && error.details.outcome) || "unknown");
    call.close();
    throw error;
  }
}
