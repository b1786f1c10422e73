import type { ConnectionError } from "../types/errors.js";
import { resolveAddress } from "./resolve-address.js";
import type { Connection } from "./send.js";

/* Advice about CORS in development. Bundlers drop this code in production. */

/**
 * Adds CORS advice to a failure across origins, because browsers do not report the reason. On a local page, two requests
 * to the server confirm the reason.
 */
export async function addOriginAdvice(
  error: ConnectionError,
  client: Pick<Connection, "baseURL" | "hasOwnFetch">,
): Promise<void> {
  const { origin: page, hostname } = globalThis.location ?? {};
  const health = resolveAddress(client, HEALTH_PATH);
  const { origin } = new URL(health);
  if (error.billing === "none" || !page || origin === page) return;
  // a custom `fetch` may reach another server than the platform's `fetch`
  if (!client.hasOwnFetch && LOCAL.test(hostname) && (await isOriginRefused(health)))
    Object.assign(error, { reason: "origin-refused" });
  error.message += `. From ${page} to ${origin}, CORS may be the reason: list ${page} in the proxy's \`origins\`, and check baseURL`;
}

const LOCAL = /^(?:localhost|127\.[\d.]+|\[::1\])$/;

/**
 * Returns true if a server is reachable but rejects the page's origin: without CORS, a page may send requests but not
 * read responses.
 */
async function isOriginRefused(address: string): Promise<boolean> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), PROBE_MS);
  const probe = (mode: RequestMode) =>
    fetch(address, { mode, credentials: "omit", signal: late.signal }).then(
      (response) => {
        response.body?.cancel().catch(() => {});
        return true;
      },
      () => false,
    );
  const [isReachable, isReadable] = await Promise.all([probe("no-cors"), probe("cors")]);
  clearTimeout(timer);
  return isReachable && !isReadable;
}

/** Path of the proxy's health endpoint. */
const HEALTH_PATH = "/health";
/** Limit of both requests, in milliseconds: the caller still waits for the error of its request. */
const PROBE_MS = 5000;
