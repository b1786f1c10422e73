import type { VideoRequest } from "@sluice/core";

/** Checks the files in a request. What reads them is loaded when there is something to read. */
export async function checkFiles(request: VideoRequest, options: { readonly signal: AbortSignal }) {
  const { checkRequestMedia, mediabunny } = await import("./media-later.js");
  return checkRequestMedia(request, { ...options, parser: mediabunny });
}
