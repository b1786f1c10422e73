import type { ImageResult } from "@sluice/core";
import { createKeptList } from "../room/kept-list.js";

/** What one request gave. */
export interface Sheet {
  readonly id: string;
  readonly prompt: string;
  readonly model: string;
  /** Unix milliseconds. */
  readonly madeAt: number;
  readonly images: ImageResult["images"];
}

/** Links do not last: older ones are of no use. */
const MOST = 24;

/** All that was made in this browser. */
export const gallery = createKeptList("sluice-gallery", {
  isItem: isSheet,
  timeOf: ({ madeAt }) => madeAt,
  most: MOST,
});

/** Puts an answer on the wall, whatever room one is in when it comes. */
export function hang({ images, model }: ImageResult, prompt: string): void {
  const madeAt = Date.now();
  const id = `${madeAt} ${Math.random().toString(36).slice(2)}`;
  gallery.add({ id, prompt, model, madeAt, images });
}

function isSheet(kept: unknown): kept is Sheet {
  if (typeof kept !== "object" || kept === null) return false;
  const { id, prompt, model, madeAt, images } = kept as Record<string, unknown>;
  return (
    [id, prompt, model].every((text) => typeof text === "string") &&
    typeof madeAt === "number" &&
    Array.isArray(images) &&
    images.every((image) => typeof image?.url === "string" || typeof image?.error?.message === "string")
  );
}
