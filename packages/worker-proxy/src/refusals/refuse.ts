import { advise, type Failed, logCause } from "./log.js";
import { Refusal } from "./refusal.js";
import { errorBody, textOf, waysOut } from "./texts.js";

/** A path that a proxy knows. An `{id}` stands for an id. */
interface Row {
  readonly name: string;
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
  if (report) {
    const facts = { requestId, budget, limit, reason };
    for (const [name, value] of Object.entries(facts))
      if (value) Object.assign(report.known, { [name]: value });
    report.end(status, code);
  }
  const all = {
    "x-sluice-source": "proxy",
    ...(mayPass(refusal) && { "retry-after": String(waitOf()) }),
    ...headers,
    ...(requestId && { "x-request-id": requestId }),
    "content-type": "application/json",
  };
  // 499 is for the log, since no client is left to read it
  return new Response(errorBody(refusal), { status: status === 499 ? 408 : status, headers: all });
}

/**
 * True for a refusal that a short wait may help; false where the request may be done all the same: `retry-after` would tell
 * clients to pay for it twice.
 */
function mayPass({ reason, details }: Refusal): boolean {
  return (
    /^upstream_(?:unreachable|error)$|^(?:authentication|rate_limit|budget|storage)_unavailable$/.test(
      reason,
    ) && details.outcome !== "unknown"
  );
}

/**
 * Returns 1 to 3 seconds: clients wait exactly as long as they are told, and those that failed in one moment must not come
 * back in one. The core gives up where it is told to wait for longer than 30 s.
 */
function waitOf(): number {
  return 1 + Math.floor(Math.random() * 3);
}

/** The paths among which a gateway's asset lookup is likely to be. */
const lookups = { name: "assets", path: "/gamma/asset/" };

/** Names the path that was meant, or the option that the operator may have forgotten. */
function notServed(url: string, { basePath, table, closed }: Paths): Refusal {
  // a host may hand over an address that can't be read
  const pathname = URL.parse(url)?.pathname ?? "";
  const [, other] = /\/v1\/(models|responses|completions)$/.exec(pathname) ?? [];
  if (other === "models")
    return new Refusal("not_found", { what: ": the gateway has no list of models; name the one to use" });
  // the default of some clients, which have a setting for chat completions
  if (other)
    return new Refusal("not_found", { what: "; ask by chat completions: POST /v1/chat/completions" });
  const path = pathname.replace(/\/{2,}/g, "/").replace(/\/$/, "");
  // everybody who is no operator gets the same answer, also where there is an `admin`
  const rows = [...table, ...closed, lookups].filter(({ name }) => name !== "admin");
  const places = rows.map((row) => ({ row, ...placeOf(path, row.path) }));
  const {
    row,
    before,
    start = "",
  } = places.find((place) => place.before !== undefined) ??
  // the base URL of a client may lack the `/v1`
  places.find(({ start }) => placeOf(path, start.replace(/^\/v1/, "")).before === basePath) ??
  {};
  if (!row) return new Refusal("not_found");
  const own = basePath + start;
  const refused = (what: string, advice: string) => new Refusal("not_found", { what, advice });
  if (before === basePath && path.startsWith(own)) {
    if (row === lookups) return refused("; the proxy's operator sets `gateway.assetLookup`", own);
    const option = row.name === "health" ? "health" : "routes";
    if (!table.includes(row))
      return refused(`; the proxy's operator sets \`${option}\``, own.replace(/(.)\/$/, "$1"));
    if (path === pathname) return new Refusal("not_found");
  }
  const isBaseURL = (before ?? basePath).replace(/(?:\/v1)+$/, "") === basePath;
  const rest = isBaseURL
    ? ` The base URL of a client ends in ${basePath}/v1`
    : " Or the proxy's operator sets `basePath`";
  return refused(`; did you mean ${basePath}${row.path}?${rest}`, pathname);
}

/** Returns the constant start of a row's path, and what stands before it; undefined if the row is no part of `path`. */
function placeOf(path: string, rowPath: string) {
  const [start = ""] = rowPath.split("{id}");
  const at = path.indexOf(start);
  // a longer word is another path, unless an id follows
  const isWhole = start.endsWith("/") || /^(?:\/|$)/.test(path.slice(at + start.length));
  return { start, before: at >= 0 && isWhole ? path.slice(0, at) : undefined };
}
