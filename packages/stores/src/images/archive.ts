import type { Client, GeneratedImage, ImageResult } from "@sluice/core";
import { applyCopy, findCopy } from "../archive/renewal.js";
import type { FailedImage } from "./state.js";

/* Loaded when the link of an image has expired and the proxy stores a copy. */

/**
 * Returns the images with expired links replaced by new links to the proxy's copies.
 *
 * @param getDueAt returns the time to renew an image, in Unix milliseconds
 * @throws the errors of `getArchivedMedia`
 */
export async function renewImages(
  client: Client,
  result: ImageResult,
  getDueAt: (image: GeneratedImage | FailedImage) => number,
): Promise<ImageResult> {
  const images = result.images.map(async (image) =>
    image.url !== undefined && getDueAt(image) <= Date.now()
      ? applyCopy(image, await findCopy(client, "urls", image.url))
      : image,
  );
  return { ...result, images: await Promise.all(images) };
}
