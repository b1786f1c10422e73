import type { Admitted, ProxyContext } from "./admitted.js";
import { checkOrigin, checkRate, corsHeadersOf, userOf } from "./gates/caller.js";
import { find, isPoll, type Match, matchFor } from "./gates/path.js";
import { admit } from "./gates/policy.js";
import type { Account } from "./gateway/additions.js";
import { passOn } from "./gateway/answer.js";
import { openCall } from "./gateway/call.js";
import { addedHeaders, ask, outgoingOf } from "./gateway/request.js";
import type { ProxyOptions } from "./options.js";
import { Refusal, refusalIn } from "./refusal.js";
import { openReport, type Report } from "./report.js";
import { checkedOptions, partsOf, type Settings, setupOf } from "./settings.js";

/** The default export of a Worker; `fetch` serves any host that speaks `Request` and `Response`. */
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
  return { fetch: (request, env, context) => answer(settings, { request, env: env as Env, context }) };
}

/** A request as it comes in. */
type Incoming<Env> = Pick<Admitted<Env>, "request" | "env" | "context">;

/** Looks at path and origin, lets the other gates decide, and turns what they throw into an answer. */
async function answer<Env>(settings: Settings<Env>, incoming: Incoming<Env>): Promise<Response> {
  const { request, env, context } = incoming;
  const report = openReport(request.method, (event) => settings.onEvent?.(event, env, context));
  let cors: Record<string, string> = { vary: "Origin" };
  let response: Response;
  try {
    const found = find(request.url, settings);
    // worked out first, though its turn as a gate comes later: a page should be able to read each refusal
    const origin = request.headers.get("origin");
    // `GET /health` reports a problem of `origins` with all others
    const isHealth = found.matches[0]?.route.name === "health";
    const origins = Promise.resolve(settings.read.origins(env));
    const allowed = await (isHealth ? origins.catch(() => []) : origins);
    cors = corsHeadersOf(origin, allowed, settings.credentials);

    // a page learns why a request was refused only if its preflight was not
    const isPreflight = request.method === "OPTIONS" && origin !== null;
    const match = isPreflight ? undefined : matchFor(request, found);
    checkOrigin(origin, allowed);
    if (match) response = await serve(settings, incoming, match, report);
    else response = (await import("./own-answers.js")).preflight(request, found.methods);
  } catch (error) {
    const refusal = refusalIn(error);
    const { known, secrets } = report;
    known.requestId = refusal.details.headers?.["x-request-id"] ?? known.requestId;
    const { refuse } = await import("./own-answers.js");
    const refused = await refuse(refusal, { request, env, requestId: known.requestId, settings, secrets });
    report.end(refused.status, refused.code);
    response = refused.response;
    response.headers.set("x-request-id", known.requestId);
  }
  for (const [name, value] of Object.entries({ ...cors, ...own })) response.headers.set(name, value);
  return response;
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
  report: Report,
): Promise<Response> {
  const { request, env } = incoming;
  const { route } = match;
  report.known.route = route.name;
  const { host } = new URL(request.url);
  if (route.name === "health") {
    const { healthOf } = await import("./own-answers.js");
    const response = await healthOf(settings, partsOf(settings, env, host), incoming);
    report.end(response.status, response.ok ? undefined : "misconfigured");
    return response;
  }
  const user = await userOf(settings.authenticate, request, env);
  report.known.user = user.id;
  await checkRate(settings.rateLimit, { ...incoming, user }, route);
  const found = await setupOf(settings, env, host);
  const tenancy =
    found.secrets.length > 0
      ? (await import("./gates/references.js")).tenancyOf(found.secrets, user)
      : undefined;
  const checked = await admit(settings, found, tenancy, match, { ...incoming, user, route: route.name });
  if (checked.model !== undefined) report.known.model = checked.model;
  if (checked.body?.["stream"] === true) report.atEnd(settings.countStream(user.id));
  const { headers, keys } = await addedHeaders(settings, checked, report.known.requestId);
  const admitted = { ...checked, headers };
  report.secrets.push(...Object.values(headers));
  const setup = { ...found, guarded: [...found.guarded, ...keys] };

  const call = openCall(request.signal, route.extension ? undefined : settings.limits.totalMs);
  let account: Account | undefined;
  try {
    const mayExtend = route.extension !== undefined || settings.extensions.length > 0;
    const { extensionAnswer } = mayExtend ? await import("./gateway/additions.js") : {};
    const extensions = await extensionAnswer?.(settings, route, admitted, call);
    const response = extensions ?? (await gateways());
    const isExtensions = extensions !== undefined;
    const parts = { settings, setup, tenancy, admitted, route, report, account };
    if (response.ok) return await passOn({ ...parts, response, call, isExtensions });
    const { refusalOf } = await import("./gateway/read-answer.js");
    throw await refusalOf({ response, call }, setup.guarded, settings.limits);
  } catch (error) {
    account?.close((error instanceof Refusal && error.details.outcome) || "unknown");
    call.close();
    throw error;
  }

  async function gateways(): Promise<Response> {
    const outgoing = outgoingOf(route, admitted);
    const asked = async () => {
      const answer = await ask(settings, setup, outgoing, env, call);
      report.known.upstreamStatus = answer.status;
      return answer;
    };
    if (isPoll(route)) {
      const { poll } = await call.wait(() => import("./gateway/polls.js"), "upstream_unreachable");
      return await poll(settings, setup, outgoing, admitted, call, asked);
    }
    // reserved last: a request that the proxy or an extension refuses costs nothing
    if (settings.meter)
      account = await (await import("./gateway/additions.js")).openAccount(settings.meter, admitted);
    return await asked();
  }
}

/** Headers that every answer has: nothing of it is kept anywhere, or taken for another type than it is. */
const own = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
