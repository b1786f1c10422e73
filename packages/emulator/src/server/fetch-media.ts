import type { Findings } from "./check.js";
import { createBadRequest, type HandlerResponse } from "./http.js";

/** A URL in a request, with the path of its field. */
export interface FieldURL {
  readonly path: string;
  readonly url: string;
}

/** Fetches a URL. Returns undefined for a URL that should not be fetched. */
export type FetchMedia = (address: string) => Promise<Response> | undefined;

/** Fetches the URLs of a request as a gateway does, and refuses the first that returns no file. */
export async function refuseUnreachable(
  addresses: readonly FieldURL[],
  fetchMedia: FetchMedia | undefined,
): Promise<HandlerResponse | undefined> {
  if (!fetchMedia) return undefined;
  for (const { path, url } of addresses) {
    const reason = /^https?:/i.test(url) ? await describeFailure(url, fetchMedia) : undefined;
    if (reason !== undefined)
      return createBadRequest(`${path} can't be downloaded: ${reason}.`, path, "media_unreachable");
  }
  return undefined;
}

async function describeFailure(url: string, fetchMedia: FetchMedia): Promise<string | undefined> {
  try {
    const response = await fetchMedia(url);
    await response?.body?.cancel();
    return response && !response.ok ? `HTTP ${response.status}` : undefined;
  } catch {
    return "there is no response";
  }
}

/** URLs of this machine. The emulator can reach them, but a real gateway can't. */
const LOCAL = /^http:\/\/(?:127\.0\.0\.1|localhost)[:/]/;

/** Wraps a check of a request, so that it accepts URLs of this machine if `fetchMedia` fetches them. */
export function acceptLocal(
  check: (body: unknown) => Findings,
  fetchMedia: FetchMedia | undefined,
): (body: unknown) => Findings {
  if (!fetchMedia) return check;
  return (body) => {
    const { issues, warnings } = check(body);
    // the only issue of such a URL is its host
    return { issues: issues.filter(({ path }) => !LOCAL.test(String(readValue(body, path)))), warnings };
  };
}

function readValue(body: unknown, path: string): unknown {
  const readField = (value: unknown, name: string) => (value as Record<string, unknown> | undefined)?.[name];
  return path.split(".").reduce(readField, body);
}
