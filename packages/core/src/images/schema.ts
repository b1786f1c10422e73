import * as v from "valibot";
import {
  assertAccepted,
  between,
  type CheckOptions,
  type CheckResult,
  checkByModel,
  emitWarnings,
  optionalObject,
  type RequestOf,
  type RequestsOf,
  type Rules,
  type Warn,
  wholeNumber,
} from "../base/validate.js";
import { isHTTP, isImageDataURI } from "../base/web-address.js";
import type { Connection } from "../transport/send.js";
import { type ImageModel, imageModels } from "../types/media-models.js";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

const referenceImage = v.pipe(
  v.string(),
  v.check(
    (url) => isHTTP(url) || isImageDataURI(url),
    "must be an http(s) URL that the gateway can download within 10 seconds, or a Base64 data URI of an image",
  ),
);

const logoInfo = optionalObject({
  /** Draws the logo. The spec shows no default. */
  add_logo: v.optional(v.boolean()),
  /** Position of the logo, as a whole number. The spec lists no positions. */
  position: v.optional(wholeNumber()),
  /** Language of the logo's text, as a whole number. The spec lists no languages. */
  language: v.optional(wholeNumber()),
  /** Opacity of the logo. From 0, invisible, to 1. */
  opacity: v.optional(between(0, 1)),
});

/** A logo on each image (spec, POST /v1/images/generations). The spec does not explain the numbers. */
export type LogoInfo = RequestOf<typeof logoInfo>;

/** The fields of both image models. */
const fields = {
  /** Description of the image, or of the change to the reference images. */
  prompt: v.string(),
  /**
   * Reference images for image to image: http(s) URLs that the gateway can download within 10 seconds each, or Base64
   * data URIs. Leave it out for text to image.
   */
  image: v.optional(v.array(referenceImage)),
  /** `"auto"` allows the model to generate a sequence of images. Without it, the response has one image. */
  sequential_image_generation: v.optional(v.literal("auto")),
  /** Options of a sequence. They need `sequential_image_generation: "auto"`. */
  sequential_image_generation_options: v.optional(
    optionalObject({
      /**
       * Largest number of images in the sequence. Whole number from 1. The spec shows no upper limit and no default.
       */
      max_images: v.optional(wholeNumber(1)),
    }),
  ),
  /** Marks each image with a watermark. @default false */
  watermark: v.optional(v.boolean()),
  /** Whole number; the same request with the same seed gives similar images. The spec shows no range. */
  seed: v.optional(wholeNumber()),
  /** A logo on each image. */
  logo_info: v.optional(logoInfo as v.GenericSchema<LogoInfo>),
} as const;

const imageSize = <const Sizes extends readonly string[]>({ sizes }: { readonly sizes: Sizes }) =>
  v.optional(v.picklist(sizes, `must be one of this model's sizes: ${sizes.join(", ")}`));

const image40Request = v.object({
  /** The model. It decides the possible sizes. */
  model: v.literal("gamma-image-4-0-250828"),
  ...fields,
  /** Width and height of each image, in pixels: one of 24 sizes. The spec shows no default. */
  size: imageSize(imageModels["gamma-image-4-0-250828"]),
});

/** Body of a request to `gamma-image-4-0-250828` (spec, POST /v1/images/generations). */
export type GammaImage40Request = RequestOf<typeof image40Request>;

const image50Request = v.object({
  /** The model. It decides the possible sizes. */
  model: v.literal("gamma-image-5-0-260128"),
  ...fields,
  /** Width and height of each image, in pixels: one of 16 sizes. The spec shows no default. */
  size: imageSize(imageModels["gamma-image-5-0-260128"]),
});

/** Body of a request to `gamma-image-5-0-260128` (spec, POST /v1/images/generations). */
export type GammaImage50Request = RequestOf<typeof image50Request>;

/**
 * Schema of a request to each image model.
 */
export const imageRequests = {
  /** Request to `gamma-image-4-0-250828` (spec, POST /v1/images/generations). */
  "gamma-image-4-0-250828": image40Request as v.GenericSchema<GammaImage40Request>,
  /** Request to `gamma-image-5-0-260128` (spec, POST /v1/images/generations). */
  "gamma-image-5-0-260128": image50Request as v.GenericSchema<GammaImage50Request>,
} as const;

/** The request of each image model. */
export type ImageRequests = RequestsOf<typeof imageRequests>;

/** Request of `generateImages`, discriminated by `model`; the gateway's own field names. */
export type ImageRequest = ImageRequests[ImageModel];

const rules: Rules = { resource: "image", models: imageModels, schemas: imageRequests };

/**
 * Checks an image request by the rules of its model, without sending anything.
 *
 * @returns `issues`: reasons why the gateway would reject the request. `warnings`: parts that it would ignore
 */
export function checkImageRequest(request: unknown): CheckResult {
  return checkByModel(request, rules, addWarnings);
}

/**
 * Checks a request as `generateImages` does, for an add-on that uploads files before it sends the request. Emits the
 * warnings in development. `checks: false` accepts any request.
 *
 * @throws {ValidationError} if the request breaks a rule
 * @example
 * ```ts
 * assertImageRequest(client, { model: "gamma-image-5-0-260128", prompt: "A reef at dawn" });
 * ```
 */
export function assertImageRequest(
  client: Pick<Connection, "warn">,
  request: unknown,
  options?: CheckOptions,
): void {
  assertAccepted(request, rules, options);
  try {
    if (process.env.NODE_ENV !== "production" && options?.checks !== false)
      emitWarnings(request as ImageRequest, rules, addWarnings, client.warn);
  } catch {}
}

function addWarnings(request: ImageRequest, warn: Warn): void {
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
