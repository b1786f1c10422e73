import type { Admitted } from "../admitted.js";
import type { ProxyOptions } from "../options.js";
import { ensure, readOption } from "../refusal.js";
import { isCredential } from "../report.js";

/* Loaded where the proxy has `upstreamHeaders`. */

/** Headers that are added to a request to the gateway. */
export interface Added {
  readonly headers: Readonly<Record<string, string>>;
  /** Values of headers that let somebody in: kept from answers like the key. */
  readonly keys: readonly string[];
}

/** Headers that are the proxy's own, the platform's, or about one connection alone. */
const RESERVED =
  /^(?:authorization|cookie|host|accept(?:-encoding)?|content-.*|proxy-.*|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|x-request-id|traceparent)$/i;
/**
 * Reads `upstreamHeaders`.
 *
 * @throws {Refusal} 500 `misconfigured` for a header that can't be sent
 */
export async function readHeaders<Env>(
  option: NonNullable<ProxyOptions<Env>["upstreamHeaders"]>,
  admitted: Admitted<Env>,
): Promise<Added> {
  const headers = await readOption("upstreamHeaders", option, admitted, checkHeaders);
  const keys = Object.entries(headers).flatMap(([name, value]) => (isCredential(name) ? value : []));
  return { headers, keys };
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
