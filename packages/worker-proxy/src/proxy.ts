import type { ProxyContext, User } from "./admitted.js";
import { checkOrigin } from "./gates/origin.js";
import { isPoll, type Match, matchFor } from "./gates/path.js";
import type { Exchange } from "./gateway/exchange.js";
import { ask } from "./gateway/request.js";
import { isOpenInside, openInside } from "./inside.js";
import { type Gates, type Incoming, openGates, type Setup } from "./open-gates.js";
import type { ProxyOptions } from "./options.js";
import { Refusal } from "./refusals/refusal.js";
import { logError, type Report } from "./report.js";

/** The default export of a Worker; `fetch` serves any host that speaks `Request` and `Response`. */
export interface GatewayProxy<Env = unknown> {
  readonly fetch: (request: Request, env?: Env, context?: ProxyContext) => Promise<Response>;
}

/**
 * Makes the proxy that adds the gateway's key. It has only the routes of the spec, the models that are listed, and the
 * users that `authenticate` knows.
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
  const gates = openGates(options);
  import("./option-advice.js")
    .then(({ optionAdvice }) => optionAdvice(options).forEach(logError))
    .catch(() => {});
  const proxy: GatewayProxy<Env> = {
    fetch: (request, env, context) => answer(gates, { request, env: env as Env, context }),
  };
  openInside(proxy, {
    enter: (request, user, env, context) => answer(gates, { request, env: env as Env, context }, user),
    basePath: options.basePath ?? "",
    keepsChats: gates.offers("chat")["x-sluice-offers"]?.includes("chat-once") ?? false,
    keepsCreates: gates.offers("images")["x-sluice-offers"]?.includes("once") ?? false,
  });
  return proxy;
}

/** Headers of every answer: no cache keeps it, and no browser takes it for another type. */
const own = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/**
 * Looks at path and origin, lets the other gates decide, and turns what they throw into an answer.
 *
 * @param inside the user of a request that comes from the operator's own code, see `innerWay`
 */
async function answer<Env>(gates: Gates<Env>, incoming: Incoming<Env>, inside?: User): Promise<Response> {
  const { request, env } = incoming;
  const report = gates.report(incoming);
  let cors: Record<string, string> = { vary: "Origin" };
  let offered: Record<string, string> = {};
  let response: Response;
  try {
    let found = gates.path(request.url);
    // read before the gate that uses it, so that a page can read each refusal
    const origin = request.headers.get("origin");
    // `GET /health` reports a problem of `origins` with all others
    const isHealth = found.matches[0]?.route.name === "health";
    const origins = Promise.resolve(gates.origins(env));
    const allowed = await (isHealth ? origins.catch(() => []) : origins);
    cors = gates.cors(origin, allowed);

    // a page can read the reason of a refusal only if its preflight was allowed
    let operator: User | undefined;
    const isClosed = inside && !found.matches.every(({ route }) => isOpenInside(route.name));
    if (isClosed) found = { ...found, matches: [], methods: "" };
    else if (found.matches[0]?.route.name === "admin") {
      operator = await gates.operator(incoming, found.matches[0], report);
      if (!operator) found = { ...found, matches: [], methods: "" };
    }
    const isPreflight = request.method === "OPTIONS" && origin !== null;
    const match = isPreflight ? undefined : matchFor(request, found);
    checkOrigin(request, allowed);
    // on refusals, too: a client decides by them if it may repeat a request
    offered = match ? gates.offers(match.route.name) : {};
    if (match) response = await serve(gates, incoming, match, { host: found.host, report, operator, inside });
    else response = (await import("./refusals/answers.js")).preflight(request, found.methods);
  } catch (error) {
    response = await gates.refuse(error, incoming, report);
  }
  const all = { ...cors, ...own, ...offered };
  for (const [name, value] of Object.entries(all)) response.headers.set(name, value);
  return response;
}

/** Facts about a request that the gates behind path and origin need. */
interface Served {
  readonly host: string;
  readonly report: Report;
  readonly operator: User | undefined;
  readonly inside: User | undefined;
}

/**
 * Leads a request through the gates behind path and origin, in their order, to the gateway and back.
 *
 * @throws {Refusal} the reason for which the request does not get there
 */
async function serve<Env>(
  gates: Gates<Env>,
  incoming: Incoming<Env>,
  match: Match,
  { host, report, operator, inside }: Served,
): Promise<Response> {
  const { route } = match;
  const { known } = report;
  known.route = route.name;
  if (route.name === "health") return await gates.health(incoming, host, report);
  const user = operator ?? inside ?? (await gates.user(incoming));
  known.user = user.id;
  // in an outage, operators must get through
  if (!operator) await gates.rate({ ...incoming, user }, route);
  const setup = await gates.setup(incoming.env, host, user);
  const checked = await gates.body(match, { ...incoming, user }, setup);
  if (checked.model !== undefined) known.model = checked.model;
  if (operator && typeof checked.body?.["user"] === "string") known.target = checked.body["user"];
  if (checked.body?.["stream"] === true) report.atEnd(gates.streams(user.id));
  const { headers: added, keys } = await gates.headers(checked, report);
  const headers = { ...added, "x-request-id": known.requestId };
  report.secrets.push(...Object.values(headers));
  const call = gates.call(incoming.request, route);
  const exchange = { admitted: { ...checked, headers }, route, report, call };
  return await pass(gates, exchange, { ...setup, keys: [...setup.keys, ...keys] });
}

/** Lets an extension or the gateway answer an admitted request, and passes the answer on. */
async function pass<Env>(gates: Gates<Env>, exchange: Exchange<Env>, setup: Setup): Promise<Response> {
  try {
    const extended = await gates.extension(exchange);
    const response = extended ?? (await ofGateway(gates, exchange, setup));
    return await gates.answer(exchange, setup, response, extended !== undefined);
  } catch (error) {
    exchange.account?.close((error instanceof Refusal && error.details.outcome) || "unknown");
    exchange.call.close();
    throw error;
  }
}

async function ofGateway<Env>(gates: Gates<Env>, exchange: Exchange<Env>, setup: Setup): Promise<Response> {
  const { admitted, route } = exchange;
  const { id, body, headers } = admitted;
  const path = id === undefined ? route.path : route.path.replace("{id}", id);
  const outgoing = { method: route.method, path, body, headers };
  if (isPoll(route)) return await gates.poll(exchange, setup, outgoing);
  // reserved last: a request that the proxy or an extension refuses costs nothing
  exchange.account = await gates.budget(exchange);
  return await ask(setup.gateway, outgoing, exchange);
}
