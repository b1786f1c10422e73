import type { AdmittedRequest, ProxyPlugin } from "./api/plugin.js";
import { definePlugin } from "./define-plugin.js";
import { ensure, readOption } from "./refusals/read-option.js";

/** Headers of a request, by their names. */
type Headers = Readonly<Record<string, string>>;

/**
 * Adds headers to each request to the gateway: the key of an AI gateway in front of it (`cf-aig-authorization`), metadata
 * for its logs. Values are ASCII. `authorization`, `cookie`, `host`, `content-*` and headers about the connection can't be set.
 *
 * @throws {TypeError} for anything but a function
 * @example
 * ```ts
 * const plugins = [gatewayHeaders<Env>(({ env }) => ({ "cf-aig-authorization": `Bearer ${env.AI_GATEWAY_TOKEN}` }))];
 * ```
 */
export function gatewayHeaders<Env = unknown>(
  read: (admitted: AdmittedRequest<Env>) => Headers | Promise<Headers>,
): ProxyPlugin<Env> {
  ensure(
    typeof read === "function",
    'gatewayHeaders: give a function, (admitted) => ({ "x-name": "value" })',
  );
  return definePlugin({ headers: (admitted) => readOption("gatewayHeaders", read, admitted, checkHeaders) });
}

/** Headers that are the proxy's own, the platform's, or about one connection alone. */
const RESERVED =
  /^(?:authorization|cookie|host|accept(?:-encoding)?|content-.*|proxy-.*|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|x-request-id|traceparent)$/i;

function checkHeaders(given: unknown): Readonly<Record<string, string>> {
  const headers = { ...(given as Record<string, string>) };
  for (const [name, value] of Object.entries(headers)) {
    ensure(/^[\w-]+$/.test(name) && !RESERVED.test(name), `gatewayHeaders: ${name}: can't be set`);
    const isText = typeof value === "string" && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value);
    ensure(isText, `gatewayHeaders: ${name}: give a text of ASCII letters, without a line break`);
  }
  return headers;
}
