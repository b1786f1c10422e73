import type { Admitted } from "./admitted.js";
import { checkRate, freeAccount, openAccount } from "./gates/limits.js";
import { isPoll, type Match } from "./gates/path.js";
import { admit } from "./gates/policy.js";
import { tenancyOf, userOf } from "./gates/user.js";
import { passOn } from "./gateway/answer.js";
import { openCall } from "./gateway/call.js";
import { outcomeOfStatus } from "./gateway/outcome.js";
import { ask, refusalOf } from "./gateway/request.js";
import { addedHeaders, extensionAnswer, outgoingOf } from "./gateway/send.js";
import { Refusal } from "./refusal.js";
import type { Report } from "./report.js";
import { type Settings, setupOf } from "./settings.js";

/** A request that has found its route: who asks comes next. */
export type Routed<Env> = Pick<Admitted<Env>, "request" | "env" | "context">;

/**
 * Leads a request through the gates, in their order, to the gateway and back.
 *
 * @throws {Refusal} whatever keeps the request from it
 */
export async function serve<Env>(
  settings: Settings<Env>,
  routed: Routed<Env>,
  match: Match,
  report: Report,
): Promise<Response> {
  const { request, env } = routed;
  const { route } = match;
  report.known.route = route.name;
  if (route.name === "health") return await health(settings, routed, report);
  const user = await userOf(settings.authenticate, request, env);
  report.known.user = user.id;
  await checkRate(settings.rateLimit, { ...routed, user }, route);
  const found = await setupOf(settings, env, new URL(request.url).host);
  const tenancy = tenancyOf(found.secrets, user);
  const checked = await admit(settings, found, tenancy, match, { ...routed, user, route: route.name });
  if (checked.model !== undefined) report.known.model = checked.model;
  if (checked.body?.["stream"] === true) report.atEnd(settings.countStream(user.id));
  const { headers, keys } = await addedHeaders(settings, checked, report.known.requestId);
  const admitted = { ...checked, headers };
  report.secrets.push(...Object.values(headers));
  const setup = { ...found, guarded: [...found.guarded, ...keys] };
  report.lap("proxy");

  const call = openCall(request.signal, route.extension ? undefined : settings.limits.totalMs);
  let account = freeAccount;
  try {
    const extensions = await extensionAnswer(settings, route, admitted, call);
    const response = extensions ?? (await gateways());
    report.lap("gateway");
    const upstream = { response, call, isExtensions: extensions !== undefined };
    if (response.ok)
      return await passOn(upstream, { settings, setup, tenancy, admitted, route, report, account });
    account.close(outcomeOfStatus(response.status));
    throw await refusalOf(upstream, setup, settings.limits);
  } catch (error) {
    account.close((error instanceof Refusal && error.details.outcome) || "unknown");
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
    account = await openAccount(settings.meter, admitted);
    return await asked();
  }
}

async function health<Env>(
  settings: Settings<Env>,
  { request, env }: Routed<Env>,
  report: Report,
): Promise<Response> {
  const { healthOf } = await import("./causes.js");
  const answer = await healthOf(settings, request, env);
  report.end(answer.status, answer.ok ? undefined : "misconfigured");
  return answer;
}
