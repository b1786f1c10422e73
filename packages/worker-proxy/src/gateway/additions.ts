import type { Admitted, Extension } from "../admitted.js";
import { wellFormed } from "../base/traceparent.js";
import type { ProxyOptions } from "../options.js";
import { ensure, readOption } from "../read-option.js";
import { isCredential } from "../refusals/log.js";
import { Refusal } from "../refusals/refusal.js";
import type { Report } from "../report.js";
import type { Exchange } from "./exchange.js";
import { openKeyWatch } from "./keys.js";

/* Loaded where the operator adds something: extensions, or `upstreamHeaders`. */

/** The extensions, and the rules for their answers. */
interface ExtensionRules<Env> {
  readonly extensions: readonly Extension<Env>[];
  /** True where the proxy has a meter. */
  readonly isMetered: boolean;
  /** Longest time until an answer, in milliseconds. */
  readonly headersMs: number;
}

/**
 * Returns the answer of an extension in the gateway's place, if one gives any.
 *
 * @throws {Refusal} 503 where the extension fails
 */
export async function extensionAnswer<Env>(
  { route, admitted, call }: Exchange<Env>,
  { extensions, isMetered, headersMs }: ExtensionRules<Env>,
): Promise<Response | undefined> {
  const answered = async () => {
    try {
      let answer = route.extension?.serve(admitted as Admitted<never>);
      for (const extension of extensions) answer ??= extension.send?.(admitted, isMetered);
      return await answer;
    } catch (error) {
      // a refusal is the extension's answer, as it is
      if (error instanceof Refusal) throw error;
      throw new Refusal("extension_unavailable", { problem: "extensions failed", cause: error });
    }
  };
  const limit = { ms: headersMs, late: "upstream_timeout" } as const;
  return await call.wait(answered, "upstream_unreachable", limit);
}

/** Returns the id of a stream that an extension keeps, as a header of the answer. */
export function streamHeader({ headers }: Response, keys: readonly string[]): Record<string, string> {
  const stream = headers.get("x-stream-id") ?? "";
  const isId = /^[\w-]{1,128}$/.test(stream) && !openKeyWatch(keys)(stream);
  return isId ? { "x-stream-id": stream } : {};
}

/** Headers that are the proxy's own, the platform's, or about one connection alone. */
const RESERVED =
  /^(?:authorization|cookie|host|accept(?:-encoding)?|content-.*|proxy-.*|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|x-request-id|traceparent)$/i;

/**
 * Reads `upstreamHeaders`, and adds the `traceparent` of the proxy's span, or a well-formed one of the client. `keys` are
 * the values that are credentials: no answer may hold them, as with the gateway's key.
 *
 * @throws {Refusal} 500 `misconfigured` for a header that can't be sent
 */
export async function addedHeaders<Env>(
  { upstreamHeaders = () => ({}), traceparent }: Added<Env>,
  admitted: Admitted<Env>,
  report: Report,
) {
  const given = await readOption("upstreamHeaders", upstreamHeaders, admitted, checkHeaders);
  const keys = Object.entries(given).flatMap(([name, value]) => (isCredential(name) ? value : []));
  const sent = ownTraceparent(traceparent, admitted, report) ?? report.known.traceparent;
  return { headers: { ...given, ...(sent && { traceparent: sent }) }, keys };
}

type Added<Env> = { readonly [Name in "upstreamHeaders" | "traceparent"]: ProxyOptions<Env>[Name] };

/** Begins the span of a request, and notes its `traceparent` for the event, which ends it. */
function ownTraceparent<Env>(
  begin: ProxyOptions<Env>["traceparent"],
  { request: { method }, route }: Admitted<Env>,
  { known, startedAt, logFailure }: Report,
): string | undefined {
  try {
    const own = wellFormed(begin?.({ method, route, traceparent: known.traceparent, startedAt }));
    if (own) known.ownTraceparent = own;
    return own;
  } catch (error) {
    logFailure("traceparent", error);
    return undefined;
  }
}

function checkHeaders(given: unknown): Readonly<Record<string, string>> {
  const headers = { ...(given as Record<string, string>) };
  for (const [name, value] of Object.entries(headers)) {
    ensure(/^[\w-]+$/.test(name) && !RESERVED.test(name), `upstreamHeaders: ${name}: can't be set`);
    const isText = typeof value === "string" && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value);
    ensure(isText, `upstreamHeaders: ${name}: give a text of ASCII letters, without a line break`);
  }
  return headers;
}
