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
import { logCause } from "./log.js";
import { Refusal } from "./refusal.js";
import type { Report } from "./report.js";
import { problemsOf, type Settings, secretsOf, setupOf } from "./settings.js";

/** A request that has found its route: who asks comes next. */
export type Routed<Env> = Pick<Admitted<Env>, "request" | "env" | "context">;

/**
 * From authentication to the gateway's answer.
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
  const found = await setupOf(settings, env, hostOf(request));
  const tenancy = tenancyOf(found.secrets, user);
  const checked = await admit(settings, found, tenancy, match, { ...routed, user, route: route.name });
  if (checked.model !== undefined) report.known.model = checked.model;
  if (checked.body?.["stream"] === true) report.atEnd(settings.countStream(user.id));
  const added = await addedHeaders(settings, checked, report.known.requestId);
  const admitted = { ...checked, headers: added.headers };
  report.secrets.push(...Object.values(added.headers));
  const setup = { ...found, guarded: [...found.guarded, ...added.keys] };
  report.lap("proxy");

  const call = openCall(request.signal, route.extension ? undefined : settings.limits.totalMs);
  let account = freeAccount;
  try {
    let response = await extensionAnswer(settings, route, admitted, call);
    const isExtensions = response !== undefined;
    if (!response) {
      // asked last: a request that the proxy or an extension refuses costs nothing; a poll is free
      if (!isPoll(route)) account = await openAccount(settings.meter, admitted);
      const outgoing = outgoingOf(route, admitted);
      const asked = async () => {
        const answer = await ask(settings, setup, outgoing, env, call);
        report.known.upstreamStatus = answer.status;
        return answer;
      };
      if (isPoll(route)) {
        const { poll } = await call.wait(() => import("./gateway/polls.js"), "upstream_unreachable");
        response = await poll(settings, setup, outgoing, admitted, call, asked);
      } else response = await asked();
    }
    const upstream = { response, call, isExtensions };
    report.lap("gateway");
    if (!response.ok) {
      account.close(outcomeOfStatus(response.status));
      throw await refusalOf(upstream, setup, settings.limits);
    }
    return await passOn(upstream, { settings, setup, tenancy, admitted, route, report, account });
  } catch (error) {
    account.close(error instanceof Refusal ? error.outcome : "unknown");
    call.close();
    throw error;
  }
}

function hostOf({ url }: Request): string {
  return new URL(url).host;
}

/**
 * Answers 503 as long as a setting or a binding is missing. The log names each, the answer none. The gateway is not
 * asked.
 */
async function health<Env>(
  settings: Settings<Env>,
  { request, env }: Routed<Env>,
  report: Report,
): Promise<Response> {
  const problems = await problemsOf(settings, env, hostOf(request));
  const secrets = problems.length > 0 ? await secretsOf(settings, env) : [];
  for (const problem of problems) logCause("health", problem, { request, env, secrets });
  const [status, name] = problems.length > 0 ? [503, "misconfigured"] : [200, "ok"];
  report.end(status, status === 503 ? name : undefined);
  return Response.json({ status: name }, { status });
}
