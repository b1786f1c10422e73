import type { Checked, ProxyPlugin } from "./api/plugin.js";
import { waitAtMost } from "./base/time.js";
import { definePlugin } from "./define-plugin.js";
import { openCall } from "./gateway/call.js";
import { parseJSON, readText } from "./gateway/read-json.js";
import { readRefusal } from "./gateway/read-refusal.js";
import { sendRequest } from "./gateway/request.js";
import { checkType } from "./gateway/respond.js";
import { logCause, logError } from "./refusals/log.js";
import { Refusal, refuseSetup } from "./refusals/refusal.js";
import type { Server } from "./server.js";

const HEALTH = {
  name: "health",
  method: "GET",
  path: "/health",
  id: "own",
  isPublic: true,
  isRaw: true,
} as const;

/** Options of {@link health}. */
export interface HealthOptions {
  /**
   * Also sends a request to the gateway: it polls a task that does not exist, which is free, and shows that the gateway accepts
   * the key. Each isolate does it at most once in 10 seconds, for all callers.
   * @default false
   */
  readonly checkGateway?: boolean;
}

/** The task that is polled. No gateway has it, and a poll is free (spec, GET /v1/video/generations/{id}). */
const NO_TASK = "/v1/video/generations/sluice-health-check";
/** Statuses of a gateway that has accepted the key, and does not know the task or is busy. */
const ACCEPTS_KEY = [400, 404, 429];
/** Longest time for its response, in milliseconds. */
const RESPONSE_MS = 5000;
/** Time for which an isolate reuses the result, in milliseconds. */
const FRESH_MS = 10_000;
/** Larger than an error about an unknown task. */
const MAX_CHARACTERS = 65_536;
/** Example hosts (RFC 2606): a template's address that was never changed. */
const TEMPLATE = /^https:\/\/(?:[^/]+\.)?example\.(?:com|net|org)(?:[:/]|$)/;

/**
 * Serves `GET /health`, which needs no sign-in: 200, or 503 as long as a setting or a binding is missing. Only the log says
 * which one.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, plugins: [health({ checkGateway: true })] });
 * ```
 */
export function health<Env = unknown>({ checkGateway = false }: HealthOptions = {}): ProxyPlugin<Env> {
  let server: Server<Env> | undefined;
  let last: { readonly at: number; readonly code: Promise<string> } | undefined;
  return definePlugin({
    connect(given) {
      server = given as Server<Env>;
    },
    routes: [
      {
        ...HEALTH,
        async serve({ request, env }) {
          const settings = (server as Server<Env>).settings;
          const { host } = new URL(request.url);
          const problem = await findProblem(settings, env, host);
          const status = problem ?? (checkGateway ? await poll(settings, env, host) : "ok");
          return Response.json({ status }, { status: status === "ok" ? 200 : 503 });
        },
      },
    ],
  });

  /** Callers share one request to the gateway. workerd drops it when the caller that sent it leaves: hence the timer. */
  async function poll(settings: Settings<Env>, env: Env, host: string): Promise<string> {
    if (!last || Date.now() >= last.at + FRESH_MS)
      last = { at: Date.now(), code: pollGateway(settings, env, host) };
    return (await waitAtMost(RESPONSE_MS, last.code)) ?? "upstream_timeout";
  }
}

type Settings<Env> = Server<Env>["settings"];

/** Logs all problems of the setup, each time. Returns the code of the response. */
async function findProblem<Env>(
  settings: Settings<Env>,
  env: Env,
  host: string,
): Promise<string | undefined> {
  const { authenticate, isPublic, rateLimit, plugins = [], host: database, log } = settings;
  const parts: readonly (Checked<Env> | undefined)[] = [
    isPublic ? undefined : (authenticate as Checked<Env>),
    rateLimit,
    database,
    ...plugins,
  ];
  const checks = parts.flatMap((part) => part?.checks ?? []);
  const checkHost = async (env: Env) => {
    const { baseURL } = await settings.connect(env, host);
    if (!settings.fetch && TEMPLATE.test(baseURL))
      throw refuseSetup(`baseURL: is still the template's ${baseURL}; give the address of your gateway`);
  };
  const readKeys = async (env: Env) => settings.readKeys(env);
  const names = new Set<string>();
  const watched = watchMissing(env, names);
  const all = [checkHost, readKeys, settings.readSecrets, settings.readModels, ...checks].map(async (check) =>
    check(watched),
  );
  const problems = (await Promise.allSettled(all)).filter((result) => result.status === "rejected");
  const reasons = new Map(problems.map(({ reason }) => [String(reason?.details?.problem ?? reason), reason]));
  for (const reason of reasons.values())
    await logCause("health", reason, { env, log: { ...log, lines: undefined } });
  if (problems.length === 0) return undefined;
  if (names.size > 0) logError(`health: not set: ${[...names].join(", ")}`);
  return "misconfigured";
}

/** Returns an environment that notes the names of variables that are read and not set. */
function watchMissing<Env>(env: Env, names: Set<string>): Env {
  const get = (target: object, name: string | symbol) => {
    const value: unknown = Reflect.get(target, name);
    if (value === undefined || value === "") names.add(`env.${String(name)}`);
    return value;
  };
  return new Proxy(Object(env) as object, { get }) as Env;
}

/** @returns the code of the problem, or `ok` for a gateway that accepts the key */
async function pollGateway<Env>(
  { connect, timeout, log }: Settings<Env>,
  env: Env,
  host: string,
): Promise<string> {
  // a caller that leaves does not end it: others wait for it
  const call = openCall(new AbortController().signal, RESPONSE_MS);
  try {
    const gateway = await connect(env, host);
    const response = await sendRequest(gateway, { method: "GET", path: NO_TASK }, { call });
    if (!response.ok && !ACCEPTS_KEY.includes(response.status))
      throw await readRefusal({ response, call }, gateway.apiKeys, timeout.chunkMs);
    // another server responds with a page
    checkType(response, false);
    parseJSON(await readText({ response, call }, MAX_CHARACTERS));
    return "ok";
  } catch (error) {
    const refusal = Refusal.from(error);
    await logCause("health", refusal, { env, log });
    return refusal.code;
  } finally {
    call.close();
  }
}
