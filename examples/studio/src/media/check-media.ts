import type { VideoRequest } from "@sluice/core";

/** Checks the files in a request. What reads them is loaded when there is something to read. */
export async function checkMedia(request: VideoRequest, options: { readonly signal: AbortSignal }) {
  const { checkVideoMedia } = await import("./media-later.js");
  return checkVideoMedia(request, options);
}
