import type { Client, GeneratedImage, ImageResult } from "@sluice/core";
import type { FailedImage } from "@sluice/core/internal";
import { newestCopy, withCopy } from "../archive/renewal.js";

/* Loaded where the link of an image has run out, and the proxy keeps a copy. */

/**
 * Returns the images with new links to the proxy's copies in the place of those that have expired.
 *
 * @param dueAt returns the time from which an image is renewed
 * @throws the errors of `getArchivedMedia`
 */
export async function renewedImages(
  client: Client,
  result: ImageResult,
  dueAt: (image: GeneratedImage | FailedImage) => number,
): Promise<ImageResult> {
  const images = result.images.map(async (image) =>
    image.url !== undefined && dueAt(image) <= Date.now()
      ? withCopy(image, await newestCopy(client, "urls", image.url))
      : image,
  );
  return { ...result, images: await Promise.all(images) };
}
