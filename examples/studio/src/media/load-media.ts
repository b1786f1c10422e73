import type { VideoRequest } from "@sluice/core";
import type { FittedImage, MediaLimits } from "@sluice/media";

/** Checks the files in a request. What reads them is loaded when there is something to read. */
export async function checkMedia(request: VideoRequest, options: { readonly signal: AbortSignal }) {
  const { checkVideoMedia } = await import("./media-later.js");
  return checkVideoMedia(request, options);
}

/** Makes a picture of a chat fit the limits. */
export async function fitPicture(image: File, limits: MediaLimits): Promise<FittedImage> {
  const { fitImage } = await import("./media-later.js");
  return fitImage(image, limits);
}
