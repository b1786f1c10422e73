import { isPublicURL } from "@sluice/worker-proxy/plugin";
import { refuseFile } from "../files/refusals.js";

const MAX_REDIRECTS = 3;
const REDIRECTS = [301, 302, 303, 307, 308];

/**
 * Fetches a file of the gateway. Checks each URL, including redirects, before it sends a request. Sends no header of
 * the user or the gateway.
 *
 * @param hosts the allowed hosts; undefined allows every public name
 * @throws {Refusal} 403 for a URL that is not allowed or redirects too often, 502 for a failed request
 */
export async function fetchSource(
  source: string,
  hosts: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Response> {
  let url = URL.parse(source);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    if (!url || !isAllowed(url, hosts)) throw refuseFile("source_host", { what: url?.host || "this URL" });
    const response = await fetch(url, { redirect: "manual", signal }).catch((cause: unknown) => {
      const what = signal.aborted ? "it took too long" : "the host can't be reached";
      throw refuseFile("source_failed", { what, cause });
    });
    if (response.status === 200 && response.body) return response;
    await response.body?.cancel();
    const next = REDIRECTS.includes(response.status) ? response.headers.get("location") : null;
    if (next === null)
      throw refuseFile("source_failed", { what: `its host responded with ${response.status}` });
    url = URL.parse(next, url);
  }
  throw refuseFile("source_redirects");
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/**
 * Returns true if a file may be copied from this URL. Without a list of hosts, IP addresses and names of private
 * networks are refused. A Worker can't see the IP address of a name.
 */
function isAllowed(url: URL, hosts: readonly string[] | undefined): boolean {
  if (url.username !== "" || url.password !== "") return false;
  if (hosts === undefined) return isPublicURL(url);
  const isListed = hosts.some((host) => host.toLowerCase() === url.host);
  if (isListed) return url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname));
  const isSubdomain = hosts.some(
    (host) => host.startsWith("*.") && url.host.endsWith(host.slice(1).toLowerCase()),
  );
  return isSubdomain && isPublicURL(url);
}
