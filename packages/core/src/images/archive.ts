import type { Client } from "../client.js";
import { renewalAt } from "../uploads/expiring-link.js";
import { newestCopy, withCopy } from "../uploads/renewal.js";
import type { ImageResult } from "./generate.js";

/* Loaded where the link of an image has run out, and the proxy keeps a copy. */

/**
 * Returns the images with new links to the proxy's copies in the place of those that have expired.
 *
 * @throws the errors of `archivedMedia`
 */
export async function renewedImages(client: Client, result: ImageResult): Promise<ImageResult> {
  const images = result.images.map(async (image) =>
    image.url !== undefined && renewalAt(image) <= Date.now()
      ? withCopy(image, await newestCopy(client, "urls", image.url))
      : image,
  );
  return { ...result, images: await Promise.all(images) };
}
