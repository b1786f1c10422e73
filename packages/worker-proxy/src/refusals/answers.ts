import type { RouteName } from "../routes.js";
import { advise, type Failed, logCause } from "./log.js";
import { Refusal } from "./refusal.js";
import { errorBody, textOf, waysOut } from "./texts.js";

/* Loaded when the proxy itself answers, and, once, for a look at its options. */

/** A path that a proxy knows. An `{id}` stands for an id. */
interface Row {
  readonly name: RouteName;
  readonly path: string;
}

/** The paths that are served, and those whose groups are not open. */
interface Paths {
  readonly basePath: string;
  readonly table: readonly Row[];
  readonly closed: readonly Row[];
}

/**
 * Returns the answer to a refused request, and logs the cause of a 5xx, or an option that is missing.
 *
 * @param paths those of a proxy, whose operator may have forgotten one
 */
export async function refuse<Env>(given: Refusal, failed: Failed<Env>, paths?: Paths): Promise<Response> {
  const { request, log, report } = failed;
  const refusal = paths && given.reason === "not_found" ? notServed(request.url, paths) : given;
  const { status, code, message } = textOf(refusal);
  const { advice, headers, budget, limit, reason } = refusal.details;
  const requestId = headers?.["x-request-id"] ?? report?.known.requestId;
  if (advice && !waysOut.has(advice))
    advise(log.advised, `${JSON.stringify(advice.slice(0, 100))}: ${message}`);
  log.repeats?.report();
  // without `onEvent` nothing else would tell an operator why a token is refused
  const cause = status >= 500 ? refusal : reason;
  if (cause) await logCause(`${status} ${code}`, cause, failed, requestId);
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

/** The paths among which a gateway's asset lookup is likely to be. */
const lookups = { name: "assets", path: "/gamma/asset/" } as const;

/** Names the path that was meant, or the option that the operator may have forgotten. */
function notServed(url: string, { basePath, table, closed }: Paths): Refusal {
  // a host may hand over an address that can't be read
  const pathname = URL.parse(url)?.pathname ?? "";
  if (pathname.endsWith("/v1/models"))
    return new Refusal("not_found", { what: ": the gateway has no list of models; name the one to use" });
  // the default of some clients, which have a setting for chat completions
  if (pathname.endsWith("/v1/responses") || pathname.endsWith("/v1/completions"))
    return new Refusal("not_found", { what: "; ask by chat completions: POST /v1/chat/completions" });
  const path = pathname.replace(/\/{2,}/g, "/").replace(/\/$/, "");
  // everybody who is no operator gets the same answer, also where there is an `admin`
  const rows = [...table, ...closed].filter(({ name }) => name !== "admin");
  const whole = [...rows, lookups].map((row) => ({ row, before: beforeOf(path, row.path) }));
  const { row, before } =
    whole.find((place) => place.before !== undefined) ??
    // the base URL of a client lacks the `/v1`
    rows
      .map((row) => ({
        row,
        before: row.path.startsWith("/v1/") ? beforeOf(path, row.path.slice(3)) : undefined,
      }))
      .find((place) => place.before === basePath) ??
    {};
  if (!row || before === undefined) return new Refusal("not_found");
  const meant = basePath + row.path;
  const [start = ""] = meant.split("{id}");
  const refused = (what: string, subject = start.replace(/(.)\/$/, "$1")) =>
    new Refusal("not_found", { what, advice: subject });
  if (before === basePath && path.startsWith(start)) {
    if (row === lookups) return refused("; the proxy's operator sets `assetLookup`", start);
    if (!table.includes(row)) return refused("; the proxy's operator sets `routes`");
    if (path === pathname) return new Refusal("not_found");
  }
  const isBaseURL = before.replace(/(?:\/v1)+$/, "") === basePath;
  const rest = isBaseURL
    ? ` The base URL of a client ends in ${basePath}/v1`
    : " Or the proxy's operator sets `basePath`";
  return refused(`; did you mean ${meant}?${rest}`, pathname);
}

/** Returns what stands before the path of a row; undefined if that is no part of `path`. */
function beforeOf(path: string, rowPath: string): string | undefined {
  const [start = ""] = rowPath.split("{id}");
  const at = path.indexOf(start);
  // a longer word is another path, unless an id follows
  const isWhole = start.endsWith("/") || /^(?:\/|$)/.test(path.slice(at + start.length));
  return at >= 0 && isWhole ? path.slice(0, at) : undefined;
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
