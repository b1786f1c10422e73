import { type Failed, logCause } from "./causes.js";
import type { Route } from "./gates/path.js";
import { Refusal } from "./refusal.js";
import { errorBody, textOf } from "./refusals.js";
import { logError } from "./report.js";

/* Loaded when a request is refused. */

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
  const { pathname } = new URL(url);
  const known = [...specRoutes, lookups].find(({ path }) => pathname.includes(path));
  const start = known && pathname.slice(0, pathname.indexOf(known.path) + known.path.length);
  let option = "";
  if (known === lookups) option = "assetLookup";
  if (known && !table.some(({ name }) => name === known.name)) option = "routes";
  if (known && start !== basePath + known.path) option = "basePath";
  if (option === "") return new Refusal("not_found");
  return new Refusal("not_found", { what: `; the proxy's operator sets \`${option}\``, advice: start });
}
