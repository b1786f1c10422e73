import type { Route } from "./gates/path.js";
import { Refusal } from "./refusal.js";
import { errorBody, textOf } from "./refusals.js";
import { logError } from "./report.js";
import type { Settings } from "./settings.js";

/* Loaded when the proxy itself answers: refusals, preflights and `/health`. */

/** The paths of a proxy. */
interface Served {
  readonly basePath?: string;
  /** The routes that are open. */
  readonly table?: readonly Route[];
  /** The routes of the spec. */
  readonly specRoutes?: readonly Route[];
}

/** The request that is refused, and the settings that the log and the advice are about. */
interface Refused<Env> extends Failed<Env> {
  /** Names the request in the log. @default none */
  readonly requestId?: string;
  readonly settings: Failed<Env>["settings"] &
    Served & {
      /** Lines about options that were logged before. */
      readonly advised: Set<string>;
    };
}

/** Returns the answer to a refused request, and logs what its operator should know: the cause of a 5xx, or an option. */
export async function refuse<Env>(
  given: Refusal,
  refused: Refused<Env>,
): Promise<{ readonly response: Response; readonly status: number; readonly code: string }> {
  const { settings, requestId } = refused;
  const refusal = given.reason === "not_found" ? notServed(refused.request.url, settings) : given;
  const { status, code, message } = textOf(refusal);
  const { advice, headers } = refusal.details;
  if (advice) advise(settings.advised, `${JSON.stringify(advice.slice(0, 100))}: ${message}`);
  if (status >= 500)
    await logCause(`${status} ${code}${requestId ? `, request ${requestId}` : ""}`, refusal, refused);
  const response = new Response(errorBody(refusal), {
    // 499 is for the log: nobody is there to read it
    status: status === 499 ? 408 : status,
    headers: { "x-sluice-source": "proxy", ...headers, "content-type": "application/json" },
  });
  return { response, status, code };
}

/** The largest number of different lines that callers, who choose their subjects, can put into a log. */
const MOST_ADVICE = 100;

/** Logs an option that an operator may have forgotten: each line once. */
function advise(advised: Set<string>, line: string): void {
  if (advised.has(line) || advised.size === MOST_ADVICE) return;
  advised.add(line);
  logError(line);
}

/** The paths among which a gateway's asset lookup is likely to be. */
const lookups = { name: "assets", path: "/gamma/asset/" } as const;

/** Names the option that the operator may have forgotten, for the paths that everybody knows from the spec. */
function notServed(url: string, { basePath = "", table = [], specRoutes = [] }: Served): Refusal {
  // a host may hand over an address that can't be read
  const pathname = URL.canParse(url) ? new URL(url).pathname : "";
  const known = [...specRoutes, lookups].find(({ path }) => pathname.includes(path));
  const start = known && pathname.slice(0, pathname.indexOf(known.path) + known.path.length);
  let option = "";
  if (known === lookups) option = "assetLookup";
  if (known && !table.some(({ name }) => name === known.name)) option = "routes";
  if (known && start !== basePath + known.path) option = "basePath";
  if (option === "") return new Refusal("not_found");
  return new Refusal("not_found", { what: `; the proxy's operator sets \`${option}\``, advice: start });
}

/** A request whose failure is logged. Nothing that it keeps secret is in the line. */
export interface Failed<Env> {
  readonly request: Request;
  readonly env: Env;
  /** The settings whose keys the log must not show. */
  readonly settings?: Partial<Pick<Settings<Env>, "apiKey" | "secret">>;
  /** Further values that the log must not show. */
  readonly secrets?: readonly string[];
}

/** Length of a logged cause, in characters. */
const CAUSE_CHARACTERS = 600;
/** Shorter values are words that any message may have. */
const SECRET_CHARACTERS = 8;
/** JWTs, and words of letters and digits: most keys and tokens, also those that nobody told the proxy of. */
const KEY_LIKE = /\beyJ[\w-]+(?:\.[\w-]*)*|(?=[\w+-]*\d)(?=[\w+-]*[a-z])[\w+-]{16,}/gi;

/** Logs an error in one line, without a value of `env`, a credential, a secret, or what looks like a key. */
export async function logCause<Env>(subject: string, error: unknown, failed: Failed<Env>): Promise<void> {
  let safe = causeOf(error).slice(0, 10_000);
  for (const [value, name] of await confidentialIn(failed)) safe = safe.replaceAll(value, `[${name}]`);
  safe = safe.replace(KEY_LIKE, "[…]").replace(/\p{Cc}+/gu, " ");
  logError(`${subject}: ${safe.slice(0, CAUSE_CHARACTERS)}`);
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
async function confidentialIn<Env>({ request, env, settings, secrets = [] }: Failed<Env>) {
  const keys = await Promise.allSettled(
    [settings?.apiKey, settings?.secret].map(async (read) => read?.(env)),
  );
  const known: [value: unknown, name: string][] = secrets.map((value) => [value, "secret"]);
  for (const key of keys)
    if (key.status === "fulfilled") for (const part of [key.value].flat()) known.push([part, "secret"]);
  for (const [name, value] of Object.entries(env ?? {}))
    for (const part of [value].flat()) known.push([part, `env.${name}`]);
  for (const [name, value] of request.headers)
    if (isCredential(name)) for (const part of value.split(/[\s;,=]+/)) known.push([part, name]);
  const isLong = (entry: (typeof known)[0]): entry is [string, string] =>
    typeof entry[0] === "string" && entry[0].length >= SECRET_CHARACTERS;
  return known.filter(isLong).sort(([one], [other]) => other.length - one.length);
}

/** Names what a function looks for in `env` and does not find: "; env.PROXY_SECRET is not set". */
export function missingIn<Env>(read: (env: Env) => unknown, env: Env): string {
  const missing = new Set<string>();
  const watched = new Proxy(Object(env) as object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (value === undefined || value === "") missing.add(`env.${String(name)}`);
      return value;
    },
  });
  try {
    // its rejection says no more than the first one did
    Promise.resolve(read(watched as Env)).catch(() => {});
  } catch {}
  return missing.size > 0 ? `; ${[...missing].join(", ")} is not set` : "";
}

/**
 * Answers 503 as long as a setting or a binding is missing. The log names each, the answer none. Nothing is asked
 * outside.
 */
export async function healthOf<Env>(
  settings: Settings<Env>,
  setup: readonly unknown[],
  { request, env }: Pick<Failed<Env>, "request" | "env">,
): Promise<Response> {
  const { authenticate, rateLimit, meter, extensions } = settings;
  const parts = [authenticate === "public" ? undefined : authenticate, rateLimit, meter, ...extensions];
  const checks = parts.flatMap((part) => part?.checks ?? []);
  const results = await Promise.allSettled<unknown>([
    ...setup,
    settings.read.origins(env),
    ...checks.map(async (check) => check(env)),
  ]);
  const problems = results.filter((result) => result.status === "rejected");
  for (const { reason } of problems) await logCause("health", reason, { request, env, settings });
  if (problems.length > 0) return Response.json({ status: "misconfigured" }, { status: 503 });
  return Response.json({ status: "ok" });
}

/** Tells whether the value of a header of this name lets somebody in somewhere. */
export function isCredential(name: string): boolean {
  return /auth|cookie|token|key|secret|session|jwt|signature/i.test(name);
}

const HEADER_NAMES = /^[\w\-, ]{1,1000}$/;

/**
 * The answer to a preflight: the methods and headers that the page may send. No user is authenticated here. A path that
 * is not served allows all methods of the proxy, so that the page can read why its request is refused.
 */
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
