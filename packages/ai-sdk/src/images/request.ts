import { type ImageModelV4CallOptions, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import type { ImageModel, ImageRequest } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { toURL } from "../base/files.js";
import { readFields } from "../base/provider-options.js";
import { createWarnings, type Warnings } from "../base/warnings.js";

/** Maximum relative difference between a size and the requested ratio: sizes are multiples of about 16. */
const TOLERANCE = 0.02;

/**
 * Converts a call of the SDK to a request for one image.
 *
 * @throws {UnsupportedFunctionalityError} for a mask: the image would be paid but wrong
 */
export async function toRequest(model: string, options: ImageModelV4CallOptions) {
  const { prompt = "", seed, files = [], mask } = options;
  if (mask)
    throw new UnsupportedFunctionalityError({
      functionality: "mask",
      message: "the image models have no mask; describe the change in the prompt. Nothing was sent",
    });
  const known = models[model as ImageModel];
  const row = known?.kind === "image" ? known : undefined;
  const warnings = createWarnings();
  const size = chooseSize(options, row?.sizes, warnings);
  const image = await Promise.all(files.map(toURL));
  const body: object = {
    ...(size !== undefined && { size }),
    ...(seed !== undefined && { seed }),
    ...(image.length > 0 && { image }),
    ...readFields(options.providerOptions),
    model,
    prompt,
  };
  // the client checks the request of a known model
  return { body: body as ImageRequest, checks: row !== undefined, warnings: warnings.list };
}

/** Returns the requested size, or the first size of the model with the requested ratio. */
function chooseSize(
  { size, aspectRatio }: Pick<ImageModelV4CallOptions, "size" | "aspectRatio">,
  sizes: readonly string[] = [],
  warnings: Warnings,
): string | undefined {
  if (size !== undefined || aspectRatio === undefined) return size;
  const ratio = parseRatio(aspectRatio);
  const fitting = sizes.find((known) => Math.abs(parseRatio(known) / ratio - 1) < TOLERANCE);
  if (fitting === undefined) warnings.unsupported("aspectRatio", "give a size of the model");
  return fitting;
}

function parseRatio(text: string): number {
  const [width = 0, height = 0] = text.split(/[x:]/).map(Number);
  return width / height;
}
