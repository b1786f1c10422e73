import type { VideoRequest } from "@sluice/core";

/** Loads what reads files, when there is one. Videos and sounds are measured by mediabunny, which is loaded for the first one. */
export async function loadMedia() {
  const media = await import("./media-later.js");
  media.measureWith(() => import("@sluice/media/mediabunny"));
  return media;
}

/** Checks the files in a request. What reads them is loaded when there is something to read. */
export async function checkMedia(request: VideoRequest, options: { readonly signal: AbortSignal }) {
  const { checkVideoMedia } = await loadMedia();
  return checkVideoMedia(request, options);
}
