import { ConfigurationError, ValidationError } from "@sluice/core";
import { checkProbe } from "./check.js";
import { type MediaLimits, type MediaUse, mediaLimits } from "./limits.js";
import { type MediaProbe, probeWherePossible } from "./probe.js";

/** Options of {@link fitImage}. */
export interface FitOptions {
  /** Aborts the work. */
  readonly signal?: AbortSignal;
  /** CSS color of transparent parts and of padding. @default "#ffffff" */
  readonly background?: string;
}

/** A change that {@link fitImage} made to an image. */
export type ImageChange = "flattened" | "downsized" | "padded" | "re-encoded";

/** An image within the limits. */
export interface FittedImage {
  /** The fitted image, or the given blob if nothing changed. */
  readonly blob: Blob;
  /** Width of the image in pixels. */
  readonly width: number;
  /** Height of the image in pixels. */
  readonly height: number;
  /** Changes in order. Empty if nothing changed. */
  readonly changes: readonly ImageChange[];
  /** Encoder quality, 0 to 1, of a re-encoded image. */
  readonly quality?: number;
}

/** Qualities to try, from no visible loss to visible loss. Below the last one, fewer pixels look better. */
const QUALITIES = [0.92, 0.85, 0.75, 0.65, 0.5];
/** Factor of the width and height after all qualities were tried. */
const SHRINK = 0.8;
const MIN_SCALE = 0.01;
/** A larger image is not decoded: a pixel needs 4 bytes of memory. */
const MAX_PIXELS = 100_000_000;
const OUTPUT_TYPE = "image/jpeg";

/**
 * Fits an image into the limits of a use, in a page or worker. Fills transparent parts with a color, scales long sides
 * down, and pads short sides and extreme ratios. Never enlarges or distorts. Encodes a JPEG, and lowers its quality until
 * the bytes fit, then the size. An image within the limits is returned unchanged. An animation keeps only its first frame.
 *
 * @param limits - a use, `"reference_image"`, or your own limits.
 * @throws {ConfigurationError} without a canvas (servers, workerd).
 * @throws {ValidationError} for anything but an image that can be decoded, for more than 100 million
 * pixels, or if the image can't be made to fit; throws the signal's reason when it aborts.
 * @example
 * ```ts
 * const { blob, changes } = await fitImage(file, "first_frame", { background: "black" });
 * const url = await toDataURI(blob); // changes: ["flattened", "downsized", "re-encoded"]
 * ```
 */
export async function fitImage(
  blob: Blob,
  limits: MediaUse | MediaLimits,
  { signal, background = "#ffffff" }: FitOptions = {},
): Promise<FittedImage> {
  assertCanvas();
  const rules: MediaLimits = typeof limits === "string" ? mediaLimits[limits] : limits;
  const probe = await probeWherePossible(blob, { signal });
  assertImage(probe);
  const { width, height } = probe;
  if (width && height && checkProbe(probe, rules, "media.fit", "").length === 0)
    return { blob, width, height, changes: [] };

  const bitmap = await createImageBitmap(blob).catch(throwUndecodable);
  try {
    return await encodeWithin({ bitmap, rules, background, probe, signal });
  } finally {
    bitmap.close();
  }
}

interface EncodeInput {
  readonly bitmap: ImageBitmap;
  readonly rules: MediaLimits;
  readonly background: string;
  readonly probe: MediaProbe;
  readonly signal: AbortSignal | undefined;
}

async function encodeWithin({ bitmap, rules, background, probe, signal }: EncodeInput): Promise<FittedImage> {
  const max = rules.bytes ?? Number.POSITIVE_INFINITY;
  for (let scale = 1; scale > MIN_SCALE; scale *= SHRINK) {
    const { frame, image } = computeLayout(bitmap, rules, scale);
    const encode = draw(bitmap, frame, image, background);
    for (const quality of QUALITIES) {
      signal?.throwIfAborted();
      const encoded = await encode(quality);
      if (encoded.size > max) continue;
      signal?.throwIfAborted();
      const changes: ImageChange[] = [];
      if (probe.hasAlpha) changes.push("flattened");
      if (image.width < bitmap.width || image.height < bitmap.height) changes.push("downsized");
      if (frame.width > image.width || frame.height > image.height) changes.push("padded");
      return { blob: encoded, ...frame, changes: [...changes, "re-encoded"], quality };
    }
  }
  throw createError("bytes", `can't be made to fit ${max} bytes; choose a smaller or simpler image`);
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * Computes the size of the drawn image, and of its frame. The frame adds padding to meet the limits of sides and ratio.
 */
function computeLayout({ width, height }: Size, limits: MediaLimits, shrink: number) {
  const { min, max } = limits.side ?? { min: 1, max: Number.POSITIVE_INFINITY };
  const ratio = limits.aspectRatioMax ?? Number.POSITIVE_INFINITY;
  const scale = Math.min(1, max / Math.max(width, height)) * shrink;
  const image = {
    width: Math.max(1, Math.round(width * scale)),
    height: Math.max(1, Math.round(height * scale)),
  };
  const frame = {
    width: Math.max(image.width, min, Math.ceil(image.height / ratio)),
    height: Math.max(image.height, min, Math.ceil(image.width / ratio)),
  };
  return { frame, image };
}

/** Encodes the drawn image as a JPEG. */
type Encode = (quality: number) => Promise<Blob>;

/** Draws on a canvas: an OffscreenCanvas where possible, because it also works in workers. */
function draw(bitmap: ImageBitmap, frame: Size, image: Size, background: string): Encode {
  const { width, height } = frame;
  if (typeof OffscreenCanvas === "function") {
    const canvas = new OffscreenCanvas(width, height);
    paint(canvas.getContext("2d"), bitmap, frame, image, background);
    return (quality) => canvas.convertToBlob({ type: OUTPUT_TYPE, quality }).then(assertEncoded);
  }
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  paint(canvas.getContext("2d"), bitmap, frame, image, background);
  return (quality) =>
    new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, OUTPUT_TYPE, quality)).then(assertEncoded);
}

function assertEncoded(blob: Blob | null): Blob {
  if (blob?.type === OUTPUT_TYPE) return blob;
  throw createError("canvas", `the browser can't encode an image of this size as ${OUTPUT_TYPE}`);
}

function paint(
  context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D | null,
  bitmap: ImageBitmap,
  frame: Size,
  image: Size,
  background: string,
): void {
  if (!context)
    throw createError("canvas", `the browser has no canvas of ${frame.width} × ${frame.height} px`);
  context.fillStyle = background;
  context.fillRect(0, 0, frame.width, frame.height);
  context.imageSmoothingQuality = "high";
  const left = Math.floor((frame.width - image.width) / 2);
  const top = Math.floor((frame.height - image.height) / 2);
  context.drawImage(bitmap, left, top, image.width, image.height);
}

function assertCanvas(): void {
  const hasCanvas = typeof OffscreenCanvas === "function" || typeof document === "object";
  if (typeof createImageBitmap === "function" && hasCanvas) return;
  throw new ConfigurationError(
    "fitImage needs a browser's canvas, and this runtime has none: call it in the page, or resize on the server with a library of its own (sharp, or an image service) and check the result with checkMedia()",
  );
}

function assertImage({ kind, type, width = 0, height = 0, problem }: MediaProbe): void {
  if (kind !== "image") throw createError("format", `is not an image (${problem ?? type})`);
  if (width * height > MAX_PIXELS)
    throw createError("pixels", `has ${width} × ${height} px, and at most ${MAX_PIXELS} are decoded`);
}

function throwUndecodable(error: unknown): never {
  throw createError("decode", `can't be decoded as an image (${error}); save it anew as JPEG or PNG`);
}

function createError(name: string, message: string): ValidationError {
  return new ValidationError([{ path: "", message, rule: `media.fit.${name}` }]);
}
