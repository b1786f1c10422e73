import { findSignedType } from "@sluice/core/files";

const acceptedTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];
/** Number of bytes that contain the signature of every type. */
const HEAD_BYTES = 32;
/** JPEG qualities to try, from no visible loss to a visible loss. Below the last one, fewer pixels look better. */
const QUALITIES = [0.92, 0.85, 0.75, 0.65, 0.5];
/** Factor of the width and height after all qualities were tried. */
const SHRINK = 0.8;
/** Smallest scale to try, 1 % of the original width and height. */
const MIN_SCALE = 0.01;

/**
 * Checks a file by its bytes and downscales it if necessary. Returns the image, or the reason of its rejection.
 *
 * @throws for an unreadable image
 */
export async function prepareImage(
  file: File,
  { maxBytes, maxSide, downscale }: { maxBytes: number; maxSide: number; downscale: boolean },
): Promise<Blob | "type" | "size" | "unreadable"> {
  if (file.size === 0) return "unreadable";
  const type = findSignedType(new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer()));
  if (type === undefined || !acceptedTypes.includes(type)) return "type";
  const bitmap = downscale ? await decode(file) : undefined;
  if (!bitmap) return file.size > maxBytes ? "size" : file;
  try {
    const scale = Math.min(1, maxSide / Math.max(bitmap.width, bitmap.height));
    return scale === 1 && file.size <= maxBytes ? file : await shrink(bitmap, scale, maxBytes);
  } finally {
    bitmap.close();
  }
}

/**
 * Decodes an image. Returns undefined on a platform without canvas, or if its canvas does not accept files, as in a
 * simulated DOM.
 */
async function decode(file: File): Promise<ImageBitmap | undefined> {
  if (typeof createImageBitmap !== "function" || typeof OffscreenCanvas !== "function") return undefined;
  return createImageBitmap(file).catch((error) => {
    if (error?.name === "TypeError") return undefined;
    throw error;
  });
}

/** Encodes an image as JPEG. Lowers the quality and then the size until it fits. */
async function shrink(bitmap: ImageBitmap, scale: number, maxBytes: number): Promise<Blob | "size"> {
  for (let smaller = scale; smaller > MIN_SCALE; smaller *= SHRINK) {
    const canvas = draw(bitmap, smaller);
    for (const quality of QUALITIES) {
      const image = await canvas.convertToBlob({ type: "image/jpeg", quality });
      if (image.size <= maxBytes) return image;
    }
  }
  return "size";
}

function draw(bitmap: ImageBitmap, scale: number): OffscreenCanvas {
  const width = Math.max(1, Math.round(bitmap.width * scale));
  const height = Math.max(1, Math.round(bitmap.height * scale));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  if (!context) throw new Error(`the browser has no canvas of ${width} × ${height} px`);
  // a JPEG does not support transparency
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, width, height);
  return canvas;
}
