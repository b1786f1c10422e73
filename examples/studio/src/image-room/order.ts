import type { ImageRequestOf } from "@sluice/core";
import { type ImageModel, imageModels } from "@sluice/core/schemas";
import { numberOf } from "../room/form/number-field.js";
import type { Source } from "../room/sources/source.js";

/** The form, as it was filled in: kept when the model changes, used where the model has it. */
export interface ImageOrder {
  readonly prompt: string;
  readonly model: ImageModel;
  /** Empty leaves it to the model. */
  readonly size: string;
  readonly seed: string;
  /** Several images that belong together. */
  readonly isSequence: boolean;
  /** Of a sequence. */
  readonly most: string;
  readonly hasWatermark: boolean;
  /** The gateway's logo on the image. */
  readonly hasLogo: boolean;
  readonly logo: LogoOrder;
  readonly references: readonly Source[];
}

/** How the logo is to be: as it was typed. Empty leaves it to the model. */
export interface LogoOrder {
  readonly position: string;
  readonly language: string;
  readonly opacity: string;
}

export const models = Object.keys(imageModels) as ImageModel[];

export const emptyOrder: ImageOrder = {
  prompt: "",
  model: "gamma-image-5-0-260128",
  size: "",
  seed: "",
  isSequence: false,
  most: "4",
  hasWatermark: false,
  hasLogo: false,
  logo: { position: "", language: "", opacity: "" },
  references: [],
};

/** The model's own sizes. */
export function sizesOf(model: ImageModel): readonly string[] {
  return imageModels[model].sizes;
}

/** The request, with exactly what was filled in. What is wrong with it, `checkImageRequest` says. */
export function requestOf(order: ImageOrder): ImageRequestOf<ImageModel> {
  const { model, prompt, size, seed, isSequence, most, hasWatermark, hasLogo, logo, references } = order;
  const max_images = numberOf(most);
  return {
    model,
    prompt: prompt.trim(),
    size: size || undefined,
    seed: numberOf(seed),
    watermark: hasWatermark,
    ...(hasLogo && {
      logo_info: {
        add_logo: true,
        position: numberOf(logo.position),
        language: numberOf(logo.language),
        opacity: numberOf(logo.opacity),
      },
    }),
    ...(references.length > 0 && { image: references.map(({ url }) => url) }),
    ...(isSequence && {
      sequential_image_generation: "auto",
      ...(max_images !== undefined && { sequential_image_generation_options: { max_images } }),
    }),
  } as ImageRequestOf<ImageModel>;
}

/** The same for another model: a size that it does not have is left to it. */
export function withModel(order: ImageOrder, model: ImageModel): ImageOrder {
  return { ...order, model, size: sizesOf(model).includes(order.size) ? order.size : "" };
}
