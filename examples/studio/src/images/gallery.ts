import type { ImageModel, ImageResult } from "@sluice/core";
import type { SettledImages } from "@sluice/react";
import { atom } from "nanostores";
import { client } from "../client.js";
import { createCollection, forgetOld, hasTexts } from "../media/collection.js";
import type { MediaDraft } from "../media/use-media-form.js";

/** The images of one request; none before they arrive. */
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

/** Id of the last request, if its answer was lost: the room shows its error. */
export const lost = atom<string | undefined>(undefined);

/**
 * Sends a request for images. It is stored before it is sent: where the page ends meanwhile, the request may be charged,
 * and the wall shows that.
 */
export async function order(
  draft: MediaDraft<ImageModel>,
  send: () => Promise<SettledImages<ImageModel>>,
): Promise<void> {
  forgetOld(gallery);
  const { prompt } = draft.values;
  const sheet: Sheet = {
    id: crypto.randomUUID(),
    at: Date.now(),
    prompt: typeof prompt === "string" ? prompt : "",
    draft,
    images: [],
  };
  gallery.put(sheet);
  lost.set(undefined);
  await whileLocked(sheet.id, async () => {
    const { data, error } = await send();
    if (data) gallery.put({ ...sheet, images: data.images });
    else if (error?.billing !== "none") lost.set(sheet.id);
    else gallery.remove(sheet.id);
  });
}

const lockOf = (id: string) => `sluice-studio/images/${id}`;

/** Lets other tabs and a later visit see whether a request is under way. */
async function whileLocked(id: string, run: () => Promise<void>): Promise<void> {
  await (navigator.locks ? navigator.locks.request(lockOf(id), run) : run());
}

/** Waits until no tab works on a request any more. Never resolves once the signal aborts. */
export function untilLeft({ id }: Sheet, signal: AbortSignal): Promise<void> {
  const left = navigator.locks?.request(lockOf(id), { signal }, async () => {});
  return left?.catch(() => new Promise(() => {})) ?? Promise.resolve();
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
  const { getArchivedMedia } = await import("../media/media-later.js");
  const urls = due.flatMap(({ images }) => images.flatMap(({ url }) => url ?? []));
  const copies = await getArchivedMedia(client, { urls });
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
