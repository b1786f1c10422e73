import type { ImageResult } from "@sluice/core";
import type { ImageModel } from "@sluice/core/schemas";
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
}

/** One image on the wall, or why there is none. */
export interface Shown {
  readonly sheet: Sheet;
  readonly image: Sheet["images"][number];
  /** Number in its set, from 1. */
  readonly place: number;
}

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

/** Width and height of an image, `[1, 1]` where nobody says them. */
export function sidesOf(size: string | undefined): readonly [number, number] {
  const [width, height] = (size ?? "").split("x").map(Number);
  return width && height ? [width, height] : [1, 1];
}

function isSheet(kept: unknown): kept is Sheet {
  if (!hasTexts(kept, "prompt")) return false;
  const { draft, images } = kept;
  return typeof draft === "object" && draft !== null && "values" in draft && Array.isArray(images);
}
