import { isPublicHTTP } from "@sluice/core/internal";
import type { Findings } from "./check.js";
import type { Exchange } from "./exchange.js";
import { type Answer, badRequest } from "./http.js";

/** An address of a request, with the path of its field. */
export interface Addressed {
  readonly path: string;
  readonly url: string;
}

/** Fetches an address; undefined for one that is not to be fetched. */
export type FetchMedia = (address: string) => Promise<Response> | undefined;

/**
 * Fetches the addresses of a request as a gateway does, and refuses the first that gives no file. Without `fetchMedia`, only
 * strict mode refuses: addresses of this machine and its network, unless the emulator made them.
 */
export async function refuseUnreachable(
  addresses: readonly Addressed[],
  fetchMedia: FetchMedia | undefined,
  { strict, origin }: Exchange,
): Promise<Answer | undefined> {
  for (const { path, url } of addresses) {
    if (!/^https?:/i.test(url)) continue;
    const isRefused = strict && !isPublicHTTP(url) && !url.startsWith(`${origin}/`);
    const reason = fetchMedia ? await failureOf(url, fetchMedia) : isRefused ? NOT_PUBLIC : undefined;
    if (reason !== undefined)
      return badRequest(`${path} can't be downloaded: ${reason}.`, path, "media_unreachable");
  }
  return undefined;
}

const NOT_PUBLIC = "it is not a public http(s) URL";

async function failureOf(url: string, fetchMedia: FetchMedia): Promise<string | undefined> {
  try {
    const response = await fetchMedia(url);
    await response?.body?.cancel();
    return response && !response.ok ? `HTTP ${response.status}` : undefined;
  } catch {
    return "there is no answer";
  }
}

/** Addresses of this machine, which the emulator reaches and no real gateway does. */
const LOCAL = /^http:\/\/(?:127\.0\.0\.1|localhost)[:/]/;

/** Makes a check that accepts addresses of this machine, where they are fetched. */
export function acceptLocal(
  check: (body: unknown) => Findings,
  fetchMedia: FetchMedia | undefined,
): (body: unknown) => Findings {
  if (!fetchMedia) return check;
  return (body) => {
    const { issues, warnings } = check(body);
    // with a whole address, nothing but its host can be wrong
    return { issues: issues.filter(({ path }) => !LOCAL.test(String(valueAt(body, path)))), warnings };
  };
}

function valueAt(body: unknown, path: string): unknown {
  const inner = (value: unknown, name: string) => (value as Record<string, unknown> | undefined)?.[name];
  return path.split(".").reduce(inner, body);
}
