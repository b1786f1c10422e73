import type { ImageResult } from "@sluice/core";
import type { ImageModel } from "@sluice/core/schemas";
import { client } from "../client.js";
import { createCollection, forgetOld, hasTexts } from "../media/collection.js";
import type { MediaDraft } from "../media/use-media-form.js";

/** The images of one request. */
export interface Sheet {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly prompt: string;
  /** The form that was sent. */
  readonly draft: MediaDraft<ImageModel>;
  readonly images: ImageResult["images"];
  /** End of the links; Unix milliseconds. @default a day after `at` */
  readonly linksUntil?: number;
}

/** One image on the wall, or why there is none. */
export interface Shown {
  readonly sheet: Sheet;
  readonly image: Sheet["images"][number];
}

/** Name of the store of requests for images: the room and the tray show the same one. */
export const IMAGE_STORE = "studio";

/** All images that were made in this browser. */
export const gallery = createCollection("images", isSheet);

/** Keeps the images of a request. */
export function keepSheet(draft: MediaDraft<ImageModel>, { images }: ImageResult): void {
  forgetOld(gallery);
  const at = Date.now();
  const { prompt } = draft.values;
  gallery.put({
    id: crypto.randomUUID(),
    at,
    prompt: typeof prompt === "string" ? prompt : "",
    draft,
    images,
  });
}

const DAY_MS = 86_400_000;

/** Replaces links that have expired by new ones to the proxy's copies. */
export async function renewLinks(sheets: readonly Sheet[]): Promise<void> {
  const now = Date.now();
  const isKept = (image: Shown["image"]) => image.url !== undefined && (image.keptUntil ?? 0) > now;
  const due = sheets.filter(
    ({ at, images, linksUntil = at + DAY_MS }) => linksUntil <= now && images.some(isKept),
  );
  if (due.length === 0) return;
  const { archivedMedia } = await import("../media/media-later.js");
  const urls = due.flatMap(({ images }) => images.flatMap(({ url }) => url ?? []));
  const copies = await archivedMedia(client, { urls });
  for (const sheet of due) {
    const copyOf = ({ url = "" }: Shown["image"]) => copies.get(url);
    const images = sheet.images.map((image) => {
      const copy = copyOf(image);
      return copy && image.url ? { ...image, url: copy.url } : image;
    });
    const ends = sheet.images.map((image) => copyOf(image)?.expiresAt ?? now + DAY_MS);
    gallery.put({ ...sheet, images, linksUntil: Math.min(...ends) });
  }
}

/** Takes an image off the wall. Returns the way back. */
export function removeImage({ sheet, image }: Shown): () => void {
  const images = sheet.images.filter((other) => other !== image);
  if (images.length > 0) gallery.put({ ...sheet, images });
  else gallery.remove(sheet.id);
  return () => gallery.put(sheet);
}

/** Size of an image; one that failed has the size that was asked for. */
export function sizeOf({ sheet, image }: Shown): string | undefined {
  const { size } = sheet.draft.values;
  return image.size ?? (typeof size === "string" ? size : undefined);
}

function isSheet(kept: unknown): kept is Sheet {
  if (!hasTexts(kept, "prompt")) return false;
  const { draft, images } = kept;
  return typeof draft === "object" && draft !== null && "values" in draft && Array.isArray(images);
}
