import type { Admitted, Extension, ProxyContext, User } from "./admitted.js";
import { admit, type BodyRules } from "./gates/admit.js";
import { hasOwnFields } from "./gates/field-table.js";
import { checkOrigin, corsHeadersOf } from "./gates/origin.js";
import { find, isPoll, type Match, matchFor } from "./gates/path.js";
import { checkRate } from "./gates/rate.js";
import { userOf } from "./gates/user.js";
import { passOn } from "./gateway/answer.js";
import { openCall } from "./gateway/call.js";
import type { AnswerRules, Exchange } from "./gateway/exchange.js";
import { ask, type Gateway } from "./gateway/request.js";
import type { ProxyOptions } from "./options.js";
import { Refusal, refusalIn } from "./refusals/refusal.js";
import { logError, openReport, type Report } from "./report.js";
import type { RouteName } from "./routes.js";
import { checkedOptions, type Settings, type Setup, setupOf } from "./settings.js";

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
  const settings = checkedOptions(options);
  import("./option-advice.js")
    .then(({ optionAdvice }) => optionAdvice(options).forEach(logError))
    .catch(() => {});
  return { fetch: (request, env, context) => answer(settings, { request, env: env as Env, context }) };
}

/** A request as it comes in. */
type Incoming<Env> = Pick<Admitted<Env>, "request" | "env" | "context">;

/** Headers of every answer: no cache keeps it, and no browser takes it for another type. */
const own = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** Looks at path and origin, lets the other gates decide, and turns what they throw into an answer. */
async function answer<Env>(settings: Settings<Env>, incoming: Incoming<Env>): Promise<Response> {
  const { request, env, context } = incoming;
  const report = openReport(request.method, (event) => settings.onEvent?.(event, env, context));
  let cors: Record<string, string> = { vary: "Origin" };
  let offered: Record<string, string> = {};
  let response: Response;
  try {
    let found = find(request.url, settings);
    // read before the gate that uses it, so that a page can read each refusal
    const origin = request.headers.get("origin");
    // `GET /health` reports a problem of `origins` with all others
    const isHealth = found.matches[0]?.route.name === "health";
    const origins = Promise.resolve(settings.read.origins(env));
    const allowed = await (isHealth ? origins.catch(() => []) : origins);
    cors = corsHeadersOf(origin, allowed, settings.credentials);

    // a page can read the reason of a refusal only if its preflight was allowed
    let operator: User | undefined;
    if (found.matches[0]?.route.name === "admin") {
      operator = await operatorFor(settings, incoming, found.matches[0], report);
      if (!operator) found = { ...found, matches: [], methods: "" };
    }
    const isPreflight = request.method === "OPTIONS" && origin !== null;
    const match = isPreflight ? undefined : matchFor(request, found);
    checkOrigin(origin, allowed);
    // on refusals, too: a client decides by them if it may repeat a request
    offered = match ? offersFor(match.route.name, settings.extensions) : {};
    if (match) response = await serve(settings, incoming, match, { host: found.host, report, operator });
    else response = (await import("./refusals/answers.js")).preflight(request, found.methods);
  } catch (error) {
    const { refuse } = await import("./refusals/answers.js");
    response = await refuse(refusalIn(error), { request, env, settings, report });
  }
  const all = { ...cors, ...own, ...offered };
  for (const [name, value] of Object.entries(all)) response.headers.set(name, value);
  return response;
}

/** Returns the header that names what extensions add to a group of routes. */
function offersFor(route: RouteName, extensions: readonly Extension<never>[]): Record<string, string> {
  const offers = extensions.flatMap(({ offers }) => offers?.[route] ?? []);
  return offers.length > 0 ? { "x-sluice-offers": offers.join(", ") } : {};
}

/**
 * Leads a request through the gates behind path and origin, in their order, to the gateway and back.
 *
 * @throws {Refusal} the reason for which the request does not get there
 */
async function serve<Env>(
  settings: Settings<Env>,
  incoming: Incoming<Env>,
  match: Match,
  { host, report, operator }: { host: string; report: Report; operator: User | undefined },
): Promise<Response> {
  const { request, env } = incoming;
  const { route } = match;
  const { known } = report;
  known.route = route.name;
  if (route.name === "health") {
    const { healthOf } = await import("./health.js");
    return await healthOf(settings, host, { request, env, settings, report });
  }
  const user = operator ?? (await userOf(settings.authenticate, request, env));
  known.user = user.id;
  // in an outage, operators must get through
  if (!operator) await checkRate(settings.rateLimit, { ...incoming, user }, route);
  const setup = await setupOf(settings, env, host, user);
  const asked = {
    ...incoming,
    user,
    route: route.name,
    path: route.path,
    ...(settings.authenticate === "public" && { isPublic: true }),
  };
  const checked = await admit(match, asked, bodyRulesOf(settings, setup));
  if (checked.model !== undefined) known.model = checked.model;
  if (operator && typeof checked.body?.["user"] === "string") known.target = checked.body["user"];
  const isCounted = !settings.extensions.some(({ boundsStreams }) => boundsStreams);
  if (isCounted && checked.body?.["stream"] === true) report.atEnd(settings.countStream(user.id));
  const isMore = settings.upstreamHeaders || request.headers.has("traceparent");
  const { addedHeaders } = isMore ? await import("./gateway/additions.js") : {};
  const added = await addedHeaders?.(settings.upstreamHeaders, checked);
  const headers = { ...added?.headers, "x-request-id": known.requestId };
  report.secrets.push(...Object.values(headers));
  const call = openCall(request.signal, route.extension ? undefined : settings.limits.totalMs);
  const exchange = { admitted: { ...checked, headers }, route, report, call };
  return await pass(exchange, settings, setup.gateway, answerRulesOf(settings, setup, added?.keys));
}

/** Returns the user of a path of operators; undefined for everybody else. */
async function operatorFor<Env>(
  settings: Settings<Env>,
  incoming: Incoming<Env>,
  { route }: Match,
  report: Report,
): Promise<User | undefined> {
  const { operatorOf } = await import("./gates/operator.js");
  const log = async (error: unknown) => {
    const { logCause } = await import("./refusals/log.js");
    await logCause("admin: nobody gets in", error, { ...incoming, settings, report });
  };
  return await operatorOf(settings.authenticate, incoming, route, report, log);
}

/** The rules for the body of one user's request. */
function bodyRulesOf<Env>(
  { limits, fieldsOf, media, meter, includeUsage }: Settings<Env>,
  { models, tenancy }: Setup,
): BodyRules {
  const asksUsage = (model: string) => meter !== undefined && (includeUsage ?? hasOwnFields(model));
  return { limits, models, fieldsOf, media, tenancy, asksUsage };
}

/** The rules for the answer to one user's request. */
function answerRulesOf<Env>(
  { limits, meter, extensions }: Settings<Env>,
  { gateway, tenancy }: Setup,
  addedKeys: readonly string[] = [],
): AnswerRules<Env> {
  const { stallMs } = limits;
  const readsStreams = meter !== undefined || stallMs !== undefined;
  return { keys: [...gateway.apiKeys, ...addedKeys], stallMs, readsStreams, tenancy, extensions };
}

/** Lets an extension or the gateway answer an admitted request, and passes the answer on. */
async function pass<Env>(
  exchange: Exchange<Env>,
  settings: Settings<Env>,
  gateway: Gateway,
  rules: AnswerRules<Env>,
): Promise<Response> {
  const { call } = exchange;
  try {
    const extended = await extendedAnswer(exchange, settings);
    const response = extended ?? (await gatewayAnswer(exchange, settings, gateway, rules));
    if (response.ok) return await passOn(exchange, response, rules, extended !== undefined);
    const { refusalOf } = await import("./gateway/read-answer.js");
    throw await refusalOf({ response, call }, rules.keys, rules.stallMs);
  } catch (error) {
    exchange.account?.close((error instanceof Refusal && error.details.outcome) || "unknown");
    call.close();
    throw error;
  }
}

async function extendedAnswer<Env>(
  exchange: Exchange<Env>,
  { extensions, limits, meter }: Settings<Env>,
): Promise<Response | undefined> {
  if (!exchange.route.extension && extensions.length === 0) return undefined;
  const { extensionAnswer } = await import("./gateway/additions.js");
  const { headersMs } = limits;
  return await extensionAnswer(exchange, { extensions, isMetered: meter !== undefined, headersMs });
}

async function gatewayAnswer<Env>(
  exchange: Exchange<Env>,
  { meter, polls, limits }: Settings<Env>,
  gateway: Gateway,
  { keys, stallMs }: AnswerRules<Env>,
): Promise<Response> {
  const { admitted, route, report, call } = exchange;
  const { id, body, headers } = admitted;
  const path = id === undefined ? route.path : route.path.replace("{id}", id);
  const outgoing = { method: route.method, path, body, headers };
  if (isPoll(route)) {
    const { poll } = await call.wait(() => import("./gateway/polls.js"), "upstream_unreachable");
    const rules = { flights: polls, memoMs: limits.pollMemoMs, stallMs, keys };
    return await poll(exchange, gateway, outgoing, rules);
  }
  if (meter) {
    // reserved last: a request that the proxy or an extension refuses costs nothing
    const { openAccount } = await import("./gates/budget.js");
    exchange.account = await openAccount(meter, admitted, (paid) => {
      Object.assign(report.known, paid);
    });
  }
  return await ask(gateway, outgoing, exchange);
}
