import { type ImageModelV4CallOptions, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import type { ImageRequest } from "@sluice/core";
import { findImageModel } from "@sluice/core/internal";
import { addressOf } from "../base/files.js";
import { fieldsOf } from "../base/provider-options.js";
import { createWarnings, type Warnings } from "../base/warnings.js";

/** Largest difference of a size from the ratio that was asked for: sizes are multiples of 16 or so. */
const TOLERANCE = 0.02;

/**
 * Writes a call of the SDK as a request for one image.
 *
 * @throws {UnsupportedFunctionalityError} for a mask: the image would be paid, and not what was asked for
 */
export async function requestOf(model: string, options: ImageModelV4CallOptions) {
  const { prompt = "", seed, files = [], mask } = options;
  if (mask)
    throw new UnsupportedFunctionalityError({
      functionality: "mask",
      message: "the image models have no mask; describe the change in the prompt. Nothing was sent",
    });
  const row = findImageModel(model);
  const warnings = createWarnings();
  const size = sizeOf(options, row?.sizes, warnings);
  const image = await Promise.all(files.map(addressOf));
  const body = {
    ...(size !== undefined && { size }),
    ...(seed !== undefined && { seed }),
    ...(image.length > 0 && { image }),
    ...fieldsOf(options.providerOptions),
    model,
    prompt,
  };
  return { body: body as unknown as ImageRequest, checks: row !== undefined, warnings: warnings.list };
}

/** Returns the size, or the first size of the model with the ratio that was asked for. */
function sizeOf(
  { size, aspectRatio }: Pick<ImageModelV4CallOptions, "size" | "aspectRatio">,
  sizes: readonly string[] = [],
  warnings: Warnings,
): string | undefined {
  if (size !== undefined || aspectRatio === undefined) return size;
  const ratio = ratioOf(aspectRatio);
  const found = sizes.find((known) => Math.abs(ratioOf(known) / ratio - 1) < TOLERANCE);
  if (found === undefined) warnings.unsupported("aspectRatio", "give a size of the model");
  return found;
}

function ratioOf(text: string): number {
  const [width = 0, height = 0] = text.split(/[x:]/).map(Number);
  return width / height;
}
