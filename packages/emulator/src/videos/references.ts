import type { AssetStatus } from "../assets/assets.js";
import { type Answer, badRequest } from "../server/http.js";
import type { VideoRequestBody } from "./job.js";

const ASSET = "asset://";
const LOOKUP_URL = /\/files\/asset-[^/?]+\.png\?/;

/**
 * Refuses a request that uses an asset that does not exist or is not ready, or the temporary URL of a lookup (spec,
 * Asset). The schemas have checked everything else.
 */
export function refuseReferences(
  request: VideoRequestBody,
  statusOf: (id: string) => AssetStatus | undefined,
): Answer | undefined {
  for (const { path, url } of addressesOf(request)) {
    if (LOOKUP_URL.test(url)) {
      const message = `${path} is the temporary URL of an asset lookup; use asset://<Id> instead.`;
      return badRequest(message, path, "asset_url_not_accepted");
    }
    if (!url.startsWith(ASSET)) continue;
    const status = statusOf(url.slice(ASSET.length));
    if (status === undefined)
      return badRequest(`${path} names an asset that does not exist.`, path, "asset_not_found");
    if (status !== "Active") {
      const message = `${path} names an asset that is ${status}; only Active ones can be used.`;
      return badRequest(message, path, "asset_not_active");
    }
  }
  return undefined;
}

/** Returns the URL of the first image of a request that is not an asset. */
export function firstImageOf(request: VideoRequestBody): string | undefined {
  return addressesOf(request).find(({ url, type }) => !/video|audio/.test(type) && !url.startsWith(ASSET))
    ?.url;
}

/** Returns the addresses in a request, with the paths of their fields. */
export function addressesOf({
  input,
  content = [],
}: VideoRequestBody): { path: string; type: string; url: string }[] {
  const media = (input?.media ?? []).map(({ type, url }, index) => ({
    path: `input.media.${index}.url`,
    type,
    url,
  }));
  const items = content.flatMap((item, index) => {
    const { url } = (item[item.type] ?? {}) as { readonly url?: unknown };
    return typeof url === "string"
      ? [{ path: `content.${index}.${item.type}.url`, type: item.type, url }]
      : [];
  });
  return [...media, ...items];
}
