import type { Checked } from "./api/plugin.js";
import { type Failed, logCause } from "./refusals/log.js";
import { misconfigured } from "./refusals/refusal.js";
import type { Settings } from "./settings.js";

/**
 * Answers 503 as long as a setting or a binding is missing, and where the gateway is asked and does not answer as one. Only
 * the log says what is wrong.
 */
export async function healthOf<Env>(
  settings: Settings<Env>,
  host: string,
  failed: Failed<Env>,
): Promise<Response> {
  const { env, report } = failed;
  const results = await Promise.allSettled<unknown>(checksOf(settings, env, host));
  const problems = results.filter((result) => result.status === "rejected");
  // all problems, each time: the operator who looks now sees every one
  const { apiKey, secret } = failed.log;
  for (const { reason } of problems) await logCause("health", reason, { ...failed, log: { apiKey, secret } });
  let code = problems.length > 0 ? "misconfigured" : undefined;
  code ??= await settings.checkGateway?.(settings, host, failed);
  const status = code ? 503 : 200;
  report?.end(status, code);
  return Response.json({ status: code ?? "ok" }, { status });
}

function checksOf<Env>(settings: Settings<Env>, env: Env, host: string): readonly unknown[] {
  const { authenticate, isPublic, rateLimit, plugins, host: database, onEvent, read, way } = settings;
  const [baseURL, apiKeys] = way.parts(env, host);
  const parts: readonly (Checked<Env> | undefined)[] = [
    isPublic ? undefined : (authenticate as Checked<Env>),
    rateLimit,
    onEvent,
    database,
    ...plugins,
  ];
  // a part may be listed twice: as a plugin, and as a part of `admin`
  const checks = new Set(parts.flatMap((part) => part?.checks ?? []));
  return [
    settings.fetch ? baseURL : checkedHost(baseURL),
    apiKeys,
    read.secrets(env),
    read.models(env),
    read.origins(env),
    ...[...checks].map(async (check) => check(env)),
  ];
}

/** Hosts that belong to nobody (RFC 2606): a template's address that was never changed. */
const TEMPLATE = /^https:\/\/(?:[^/]+\.)?example\.(?:com|net|org)(?:[:/]|$)/;

async function checkedHost(given: string | Promise<string>): Promise<void> {
  const baseURL = await given;
  if (TEMPLATE.test(baseURL))
    throw misconfigured(`baseURL: is still the template's ${baseURL}; give the address of your gateway`);
}
