import * as v from "valibot";
import {
  between,
  checkByModel,
  type Findings,
  optionsOf,
  type Same,
  type Warn,
  wholeNumber,
} from "../base/validate.js";
import { isHTTP, isImageDataURI } from "../base/web-address.js";
import { type ImageModel, imageModels } from "../vocabulary/models.js";
import type { ImageRequest, ImageRequests } from "./request-body.js";

const referenceImage = v.pipe(
  v.string(),
  v.check(
    (url) => isHTTP(url) || isImageDataURI(url),
    "must be an http(s) URL that the gateway can download within 10 seconds, or a Base64 data URI of an image",
  ),
);

const logoInfo = optionsOf({
  add_logo: v.optional(v.boolean()),
  position: v.optional(wholeNumber()),
  language: v.optional(wholeNumber()),
  opacity: v.optional(between(0, 1)),
});

function requestOf<Model extends ImageModel, const Sizes extends readonly string[]>(
  model: Model,
  { sizes }: { readonly sizes: Sizes },
) {
  return v.object({
    model: v.literal(model),
    prompt: v.string(),
    image: v.optional(v.array(referenceImage)),
    sequential_image_generation: v.optional(v.literal("auto")),
    sequential_image_generation_options: v.optional(optionsOf({ max_images: v.optional(wholeNumber(1)) })),
    size: v.optional(v.picklist(sizes, `must be one of this model's sizes: ${sizes.join(", ")}`)),
    watermark: v.optional(v.boolean()),
    seed: v.optional(wholeNumber()),
    logo_info: v.optional(logoInfo),
  });
}

const image40Request = requestOf("gamma-image-4-0-250828", imageModels["gamma-image-4-0-250828"]);
const image50Request = requestOf("gamma-image-5-0-260128", imageModels["gamma-image-5-0-260128"]);

/** Schema of a request to each image model. */
export const imageRequests: { readonly [Model in ImageModel]: v.GenericSchema<ImageRequests[Model]> } = {
  "gamma-image-4-0-250828": image40Request,
  "gamma-image-5-0-260128": image50Request,
};

/** Compares each declared request with its schema, both ways: a field that one of them lacks does not compile. */
type _Declared = [
  Same<ImageRequests["gamma-image-4-0-250828"], typeof image40Request>,
  Same<ImageRequests["gamma-image-5-0-260128"], typeof image50Request>,
];

/**
 * Checks an image request by the rules of its model, without sending anything.
 *
 * @returns `issues`, for which the gateway would refuse the request, and `warnings` about parts that it would ignore
 * @example
 * ```ts
 * const { issues } = checkImageRequest({ model: "gamma-image-5-0-260128", prompt: "A reef", size: "1024x1024" });
 * // issues[0] = { path: "size", message: "must be one of this model's sizes: …", rule: "image.5-0.size" }
 * ```
 */
export function checkImageRequest(request: unknown): Findings {
  return checkByModel(request, "image", imageModels, imageRequests, warnOf);
}

function warnOf(request: ImageRequest, warn: Warn): void {
  if (request.prompt.trim() === "")
    warn("prompt", "prompt-empty", "is empty; the gateway has nothing to draw from");
  if (request.image?.length === 0) warn("image", "image-empty", "is empty; leave it out for text to image");
  if (
    request.sequential_image_generation_options?.max_images !== undefined &&
    request.sequential_image_generation !== "auto"
  )
    warn(
      "sequential_image_generation_options.max_images",
      "max-images-without-auto",
      'has no effect without sequential_image_generation: "auto"',
    );
}
