import type { ThreadFile } from "@sluice/core";
import { isHTTP, isRecord } from "@sluice/core/internal";

/** True for a file that a page can show: its address is http(s), or a data URL of an image, a video or a sound. */
export function isFile(value: unknown): value is ThreadFile {
  if (!isRecord(value)) return false;
  const { type, url } = value;
  if (typeof type !== "string" || !/^[\w.+-]+\/[\w.+*-]+$/.test(type) || typeof url !== "string")
    return false;
  return isHTTP(url) || /^data:(image|video|audio)\//i.test(url);
}
