import type { GatewayConnection } from "./api/host.js";
import type { ProxyOptions } from "./api/options.js";
import type { ProxyContext, User } from "./api/plugin.js";
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
import { Refusal } from "./refusals/refusal.js";
import { refuse } from "./refusals/refuse.js";
import { type Incoming, openReport, type Report } from "./refusals/report.js";
import { checkOptions, proxies, type Registered, type Settings } from "./settings.js";

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
    fetch: (request, env, context) => respond({ settings, request, env: env as Env, context }),
  };
  proxies.set(proxy, { settings } as unknown as Registered<never>);
  settings.run?.connect(proxy);
  return proxy;
}

/** A request, and the proxy that serves it. */
interface Arrival<Env> extends Incoming<Env> {
  readonly settings: Settings<Env>;
  /** The user of a request of the operator's own code, see `connectAs`. @default `authenticate` finds the user */
  readonly sender?: User;
}

/**
 * Serves a request, and turns its errors into a response. Every response has CORS headers: a page can read the reason of a
 * refusal.
 */
export async function respond<Env>(arrival: Arrival<Env>): Promise<Response> {
  const { settings, request, env } = arrival;
  const report = openReport(request);
  settings.run?.watch(report, arrival);
  const response = await serve(arrival, report).catch((error: unknown) =>
    refuse(Refusal.from(error), report, { request, env, log: settings.log }),
  );
  for (const [name, value] of Object.entries(report.headers)) response.headers.set(name, value);
  return response;
}

/**
 * Leads a request through the checks, in their order, to the gateway and back.
 *
 * @throws {Refusal} the reason for which the request does not get there
 */
async function serve<Env>(arrival: Arrival<Env>, report: Report): Promise<Response> {
  const { settings, sender, ...incoming } = arrival;
  const { request, env } = incoming;
  const { run, isPublic } = settings;
  const origins = await settings.readOrigins(env);
  const origin = request.headers.get("origin");
  Object.assign(report.headers, createCorsHeaders(origin, origins, settings.credentials));
  const found = findRoutes(request.url, settings);
  const operator = await run?.findOperator(settings, incoming, found, report, sender);
  const isPreflight = request.method === "OPTIONS" && origin !== null;
  const match = isPreflight ? undefined : matchRequest(request.method, found, settings);
  checkOrigin(request, origins);
  if (!match) return respondToPreflight(request, listMethods(found.matches));
  const { route } = match;
  run?.noteRoute(route, report);
  const granted = operator ?? sender ?? run?.findGuest(route);
  const user = granted ?? (await findUser(settings.authenticate, request, env));
  const isGuest = user.id === "";
  if (!isGuest) report.known.userId = user.id;
  // in an outage, operators must get through
  if (settings.rateLimit && !operator && !isGuest)
    await checkRate(settings.rateLimit, { request, env, user }, route);
  const signedIn = { ...incoming, user, route: route.name, path: route.path, ...(isPublic && { isPublic }) };
  if (run && route.plugin?.isRaw) return await run.serveRaw(match, signedIn, report);
  const [gateway, models, secrets] = await Promise.all([
    settings.connect(env, found.parsed?.host),
    settings.readModels(env),
    settings.readSecrets(env),
  ]);
  const tenancy = secrets.length > 0 ? route.group?.ids?.createTenancy(secrets, user) : undefined;
  const counted = settings.countBody(user.id);
  report.onEnd.push(counted.release);
  const admitted = await admit(match, signedIn, settings, { models, secrets, tenancy, count: counted.add });
  return await forward({ route, report, tenancy, settings, admitted }, gateway);
}

/** An admitted request, before it is sent. */
interface Begun<Env> extends Omit<Exchange<Env>, "call" | "keys"> {
  readonly settings: Settings<Env>;
}

/**
 * Sends an admitted request to a plugin or to the gateway, and passes the response on.
 *
 * @throws {Refusal} the refusal of a plugin or of the gateway
 */
async function forward<Env>(begun: Begun<Env>, gateway: GatewayConnection): Promise<Response> {
  const { route, report, settings, admitted } = begun;
  const { run, timeout } = settings;
  const { known } = report;
  const { request, user, id, body } = admitted;
  await run?.checkRequest(admitted, report);
  if (body?.["stream"] === true) report.onEnd.push(settings.countStream(user.id).add(1).release);
  const keys = [...gateway.apiKeys];
  const headers = {
    ...(known.traceparent && { traceparent: known.traceparent }),
    ...(await run?.readHeaders(admitted, report, keys)),
    "x-request-id": known.requestId,
  };
  const call = openCall(request.signal, route.plugin ? undefined : timeout.totalMs);
  const exchange: Exchange<Env> = { ...begun, admitted: { ...admitted, headers }, call, keys };
  try {
    const own = await run?.send(exchange);
    const path = route.path.replace("{id}", id ?? "");
    const outgoing = { method: route.method, path, body, headers };
    const response = own?.response ?? (await sendRequest(gateway, outgoing, exchange));
    if (!response.ok) throw await readRefusal({ response, call }, keys, timeout.chunkMs);
    return await passResponse(exchange, response, own?.pass);
  } catch (error) {
    exchange.account?.close((error instanceof Refusal && error.details.outcome) || "unknown");
    call.close();
    throw error;
  }
}
