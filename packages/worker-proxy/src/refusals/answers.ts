import { specRoutes } from "../route-lists.js";
import type { RouteName } from "../routes.js";
import { advise, type Failed, logCause } from "./log.js";
import { Refusal } from "./refusal.js";
import { errorBody, textOf, waysOut } from "./texts.js";

/* Loaded when the proxy itself answers, and, once, for a look at its options. */

/** The paths that are served. */
interface Paths {
  readonly basePath: string;
  readonly table: readonly { readonly name: RouteName }[];
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

/** The paths among which a gateway's asset lookup is likely to be. */
const lookups = { name: "assets", path: "/gamma/asset/" } as const;

/** Names the option that the operator may have forgotten, for the paths of the spec. */
function notServed(url: string, { basePath, table }: Paths): Refusal {
  // a host may hand over an address that can't be read
  const pathname = URL.parse(url)?.pathname ?? "";
  if (pathname.endsWith("/v1/models"))
    return new Refusal("not_found", { what: ": the gateway has no list of models; name the one to use" });
  // the default of some clients, which have a setting for chat completions
  if (pathname.endsWith("/v1/responses") || pathname.endsWith("/v1/completions"))
    return new Refusal("not_found", { what: "; ask by chat completions: POST /v1/chat/completions" });
  const known = [...specRoutes, lookups].find(({ path }) => pathname.includes(path));
  const start = known && pathname.slice(0, pathname.indexOf(known.path) + known.path.length);
  let option = "";
  if (known === lookups) option = "assetLookup";
  if (known && !table.some(({ name }) => name === known.name)) option = "routes";
  if (known && start !== basePath + known.path) option = "basePath";
  if (option === "") return new Refusal("not_found");
  return new Refusal("not_found", { what: `; the proxy's operator sets \`${option}\``, advice: start });
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
