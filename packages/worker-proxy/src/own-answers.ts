import { specRoutes } from "./gates/path.js";
import { Refusal } from "./refusal.js";
import { errorBody, textOf, waysOut } from "./refusals.js";
import { logError, type Report } from "./report.js";
import type { Settings } from "./settings.js";

/* Loaded when the proxy itself answers: refusals, preflights and `/health`; and, once, for a look at its options. */

export { unknownProxyOptions } from "@sluice/core/internal";

/** A request that failed, with what its line in the log needs. No secret of it is in the line. */
export interface Failed<Env> {
  readonly request: Request;
  readonly env: Env;
  readonly settings: Partial<Settings<Env>>;
  /** Names the request, and further values that the log must not show. @default none */
  readonly report?: Report;
}

/** Returns the answer to a refused request, and logs the cause of a 5xx, or an option that is missing. */
export async function refuse<Env>(given: Refusal, failed: Failed<Env>): Promise<Response> {
  const { request, settings, report } = failed;
  const refusal = given.reason === "not_found" ? notServed(request.url, settings) : given;
  const { status, code, message } = textOf(refusal);
  const { advice, headers, budget, limit, reason } = refusal.details;
  const requestId = headers?.["x-request-id"] ?? report?.known.requestId;
  if (advice && !waysOut.has(advice))
    advise(settings.advised, `${JSON.stringify(advice.slice(0, 100))}: ${message}`);
  settings.repeats?.report();
  if (status >= 500) await logCause(`${status} ${code}`, refusal, failed, requestId);
  if (report && requestId) report.known.requestId = requestId;
  if (report && budget) report.known.budget = budget;
  if (report && limit) report.known.limit = limit;
  if (report && reason) report.known.reason = reason;
  report?.end(status, code);
  const id = requestId && { "x-request-id": requestId };
  const all = {
    "x-sluice-source": "proxy",
    ...(mayPass(refusal) && { "retry-after": String(waitOf()) }),
    ...headers,
    ...id,
    "content-type": "application/json",
  };
  // 499 is for the log, since no client is left to read it
  return new Response(errorBody(refusal), { status: status === 499 ? 408 : status, headers: all });
}

/** Refusals that a short wait may help. */
const PASSING: readonly Refusal["reason"][] = [
  "upstream_unreachable",
  "upstream_error",
  "authentication_unavailable",
  "rate_limit_unavailable",
  "budget_unavailable",
];

/** Returns false where the request may be done all the same: `retry-after` would tell clients to pay for it twice. */
function mayPass({ reason, details }: Refusal): boolean {
  return PASSING.includes(reason) && details.outcome !== "unknown";
}

/**
 * Returns 1 to 3 seconds: clients wait exactly as long as they are told, and those that failed in one moment must not come
 * back in one. The core gives up where it is told to wait for longer than 30 s.
 */
function waitOf(): number {
  return 1 + Math.floor(Math.random() * 3);
}

/** The largest number of different lines that callers, who choose their subjects, can put into a log. */
const MOST_ADVICE = 100;

/** Logs an option that an operator may have forgotten: each line once. */
function advise(advised = new Set<string>(), line: string): void {
  if (advised.has(line) || advised.size === MOST_ADVICE) return;
  advised.add(line);
  logError(line);
}

/** The paths among which a gateway's asset lookup is likely to be. */
const lookups = { name: "assets", path: "/gamma/asset/" } as const;

/** Names the option that the operator may have forgotten, for the paths of the spec. */
function notServed(url: string, { basePath = "", table = [] }: Partial<Settings<never>>): Refusal {
  // a host may hand over an address that can't be read
  const pathname = URL.parse(url)?.pathname ?? "";
  if (pathname.endsWith("/v1/models"))
    return new Refusal("not_found", { what: ": the gateway has no list of models; name the one to use" });
  const known = [...specRoutes, lookups].find(({ path }) => pathname.includes(path));
  const start = known && pathname.slice(0, pathname.indexOf(known.path) + known.path.length);
  let option = "";
  if (known === lookups) option = "assetLookup";
  if (known && !table.some(({ name }) => name === known.name)) option = "routes";
  if (known && start !== basePath + known.path) option = "basePath";
  if (option === "") return new Refusal("not_found");
  return new Refusal("not_found", { what: `; the proxy's operator sets \`${option}\``, advice: start });
}

/** Length of a logged cause, in characters. */
const CAUSE_CHARACTERS = 600;
/** Shorter values are words that any message may have. */
const SECRET_CHARACTERS = 8;
/** JWTs, and words of letters and digits: most keys and tokens, also those that the proxy does not know. */
const KEY_LIKE = /\beyJ[\w-]+(?:\.[\w-]*)*|(?=[\w+-]*\d)(?=[\w+-]*[a-z])[\w+-]{16,}/gi;

/**
 * Logs an error in one line, without a value of `env`, a credential, a secret, or what looks like a key. Of the equal lines
 * of one minute only the first is written, and later the number of the others: in an outage each request has one.
 */
export async function logCause<Env>(
  subject: string,
  error: unknown,
  failed: Failed<Env>,
  requestId?: string,
): Promise<void> {
  let safe = causeOf(error).slice(0, 10_000);
  for (const { name, value } of await confidentialIn(failed)) safe = safe.replaceAll(value, `[${name}]`);
  safe = safe.replace(KEY_LIKE, "[…]").replace(/\p{Cc}+/gu, " ");
  safe = safe.slice(0, CAUSE_CHARACTERS);
  if (failed.settings.repeats?.isRepeated(subject, safe)) return;
  logError(`${subject}${requestId ? `, request ${requestId}` : ""}: ${safe}`);
}

/** Describes an error for the log, with the errors behind it. */
function causeOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return typeof error === "object" ? "an object" : String(error);
  const behind = error.cause === undefined || depth === 3 ? "" : `: ${causeOf(error.cause, depth + 1)}`;
  if (error instanceof Refusal) return (error.details.problem ?? textOf(error).message) + behind;
  const [, frame] = /^\s*(at .+)$/m.exec(error.stack ?? "") ?? [];
  return `${error.name}: ${error.message}${frame ? ` (${frame})` : ""}${behind}`;
}

/** The values that no log may show, the longest first, each with the name that takes its place. */
async function confidentialIn<Env>({ request, env, settings, report }: Failed<Env>) {
  const keys = await Promise.allSettled([settings.apiKey, settings.secret].map(async (read) => read?.(env)));
  const headers = [...request.headers].filter(([name]) => isCredential(name));
  const named: (readonly [name: string, values: unknown])[] = [
    ["secret", report?.secrets],
    ...keys.map((key) => ["secret", key.status === "fulfilled" && key.value] as const),
    ...Object.entries(env ?? {}).map(([name, values]) => [`env.${name}`, values] as const),
    ...headers.map(([name, value]) => [name, value.split(/[\s;,=]+/)] as const),
  ];
  const isLong = (value: unknown) => typeof value === "string" && value.length >= SECRET_CHARACTERS;
  return named
    .flatMap(([name, values]) =>
      [values]
        .flat()
        .filter(isLong)
        .map((value) => ({ name, value: value as string })),
    )
    .sort((one, other) => other.value.length - one.value.length);
}

/** The value of an option, and its check. */
export interface ReadValue {
  readonly value: unknown;
  readonly check: (value: unknown) => unknown;
}

/**
 * Names the variables that make an option wrong: "; look at env.PROXY_SECRET" for one whose own value is, else
 * "; env.PROXY_SECRET is not set" for those that are missing.
 */
export function variablesIn<Env>(
  read: (env: Env) => unknown,
  env: Env,
  { value: result, check }: ReadValue,
): string {
  const missing = new Set<string>();
  const wrong = new Set<string>();
  const watched = new Proxy(Object(env) as object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (value === undefined || value === "") missing.add(`env.${String(name)}`);
      // one of two keys may be missing, and the other one be at fault
      else if ([result].flat().includes(value) && !passes(check, value)) wrong.add(`env.${String(name)}`);
      return value;
    },
  });
  try {
    // its rejection says no more than the first one did
    Promise.resolve(read(watched as Env)).catch(() => {});
  } catch {}
  if (wrong.size > 0) return `; look at ${[...wrong].join(", ")}`;
  return missing.size > 0 ? `; ${[...missing].join(", ")} is not set` : "";
}

function passes(check: ReadValue["check"], value: unknown): boolean {
  try {
    // an async check is of several variables together: it blames none of them
    const result = check(value);
    if (result instanceof Promise) result.catch(() => {});
    return true;
  } catch {
    return false;
  }
}

/** Tells whether the value of a header of this name is a credential. */
export function isCredential(name: string): boolean {
  return /auth|cookie|token|key|secret|session|jwt|signature/i.test(name);
}

const HEADER_NAMES = /^[\w\-, ]{1,1000}$/;

/** The answer to a preflight. A path that is not served allows all methods: the page can then read the refusal. */
export function preflight(request: Request, methods: string): Response {
  // an allowed page may send any header, since none is forwarded; client libraries add a dozen of their own
  const asked = request.headers.get("access-control-request-headers") ?? "";
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": methods || "GET, POST, DELETE",
      "access-control-allow-headers": HEADER_NAMES.test(asked) ? asked : "authorization, content-type",
      "access-control-max-age": "7200",
    },
  });
}
