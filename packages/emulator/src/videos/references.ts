import type { AssetStatus } from "../assets/assets.js";
import { createBadRequest, type HandlerResponse } from "../server/http.js";
import type { VideoRequestBody } from "./job.js";

const ASSET = "asset://";
const LOOKUP_URL = /\/files\/asset-[^/?]+\.png\?/;

/**
 * Refuses a request with an asset that does not exist or is not ready, or with the temporary URL of a lookup (spec,
 * Asset). The schemas have validated everything else.
 */
export function refuseReferences(
  request: VideoRequestBody,
  getStatus: (id: string) => AssetStatus | undefined,
): HandlerResponse | undefined {
  for (const { path, url } of readURLs(request)) {
    if (LOOKUP_URL.test(url)) {
      const message = `${path} is the temporary URL of an asset lookup; use asset://<Id> instead.`;
      return createBadRequest(message, path, "asset_url_not_accepted");
    }
    if (!url.startsWith(ASSET)) continue;
    const status = getStatus(url.slice(ASSET.length));
    if (status === undefined)
      return createBadRequest(`${path} names an asset that does not exist.`, path, "asset_not_found");
    if (status !== "Active") {
      const message = `${path} names an asset that is ${status}; only Active ones can be used.`;
      return createBadRequest(message, path, "asset_not_active");
    }
  }
  return undefined;
}

/** Finds the URL of the first image of a request. Skips assets. */
export function findFirstImage(request: VideoRequestBody): string | undefined {
  return readURLs(request).find(({ url, type }) => !/video|audio/.test(type) && !url.startsWith(ASSET))?.url;
}

/** Returns the URLs in a request, with the paths of their fields. */
export function readURLs({
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
