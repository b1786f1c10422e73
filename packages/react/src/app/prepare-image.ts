import { signedTypeOf } from "@sluice/core/internal";
import type { UseAttachmentsOptions } from "./attachments.js";

const formats = ["jpeg", "png", "gif", "webp"];
/** Enough for the signature of each format, in bytes. */
const HEAD_BYTES = 32;

/** Checks a file by its first bytes, and lets `fit` make it smaller. Returns the image, or why it is not taken. */
export async function prepareImage(
  file: File,
  { maxBytes, maxSide, fit }: { maxBytes: number; maxSide: number; fit: UseAttachmentsOptions["fit"] },
): Promise<Blob | "type" | "size" | "unreadable"> {
  if (file.size === 0) return "unreadable";
  const type = signedTypeOf(new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer()));
  if (!formats.some((format) => type === `image/${format}`)) return "type";
  if (!fit || !hasCanvas()) return file.size > maxBytes ? "size" : file;
  const limits = { kind: "image", formats, side: { min: 1, max: maxSide }, bytes: maxBytes } as const;
  return (await fit(file, limits)).blob;
}

function hasCanvas(): boolean {
  return typeof createImageBitmap === "function";
}
