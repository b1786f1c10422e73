import type { ImageModel } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import type { ImageRequestOf } from "@sluice/react";
import { fieldLabels } from "@/components/sluice/field-labels";
import {
  type FieldChoice,
  type FormField,
  type FormOptions,
  type FormValues,
  partsOf,
  setAt,
  valuesIn,
} from "@/components/sluice/form-fields";

/** Form of an image request. */
export interface ImageForm {
  /** Id of the model. */
  readonly model: ImageModel;
  /** All fields of the request but `model`, those of a logo and the seed as advanced ones. */
  readonly fields: readonly FormField[];
}

const NO_VALUES: FormValues = {};

/**
 * Describes the request of an image model for a form. Plain data, made from the tables of the spec.
 *
 * @param values the form as it is filled in: it decides which fields are shown
 * @example
 * ```tsx
 * const { fields } = imageForm("gamma-image-5-0-260128");
 * const size = fields.find(({ name }) => name === "size");
 * if (size?.kind === "choice") show(size.choices); // [{ value: "2048x2048", label: "1:1 · 2048 × 2048", … }, …]
 * ```
 */
export function imageForm(
  model: ImageModel,
  values: FormValues = NO_VALUES,
  { labels = fieldLabels }: FormOptions = {},
): ImageForm {
  const row = models[model];
  const isSequence = values.sequential_image_generation === true;
  const logo = { isAdvanced: true, isShown: values.add_logo === true };
  return {
    model,
    fields: [
      partsOf(labels, "text", "prompt"),
      {
        ...partsOf(labels, "media", "image"),
        media: "image",
        sources: ["file", "url"],
        accept: "image/png,image/jpeg,image/webp",
      },
      { ...partsOf(labels, "choice", "size"), choices: row.sizes.map(sizeOf) },
      { ...partsOf(labels, "switch", "sequential_image_generation"), default: false },
      {
        ...partsOf(labels, "number", "max_images", {
          path: "sequential_image_generation_options.max_images",
          isShown: isSequence,
        }),
        min: 1,
        step: 1,
      },
      {
        ...partsOf(labels, "switch", "watermark", { isAdvanced: true }),
        default: row.watermarkDefault,
      },
      { ...partsOf(labels, "number", "seed", { isAdvanced: true }), step: 1 },
      partsOf(labels, "switch", "add_logo", { path: "logo_info.add_logo", isAdvanced: true }),
      { ...partsOf(labels, "number", "position", { path: "logo_info.position", ...logo }), step: 1 },
      { ...partsOf(labels, "number", "language", { path: "logo_info.language", ...logo }), step: 1 },
      {
        ...partsOf(labels, "number", "opacity", { path: "logo_info.opacity", ...logo }),
        min: 0,
        max: 1,
        step: 0.05,
      },
    ],
  };
}

/**
 * Makes the request of a form's values, as `generate` of `useImages` takes it. `checkRequest` of
 * `@sluice/core/schemas` says what is wrong with it; the `path` of an issue is the `path` of a field.
 *
 * @example
 * ```tsx
 * const { generate } = useImages({ model: "gamma-image-5-0-260128" });
 * await generate(imageRequestOf("gamma-image-5-0-260128", { prompt: "A reef at dawn", size: "2048x2048" }));
 * ```
 */
export function imageRequestOf<Model extends ImageModel>(
  model: Model,
  values: FormValues,
): ImageRequestOf<Model> {
  const { fields } = imageForm(model, values);
  const request: Record<string, unknown> = { model, prompt: "" };
  const given = valuesIn(fields, values);
  for (const { name, path } of fields) {
    const value = given.get(name);
    if (name !== "sequential_image_generation" && value !== undefined) setAt(request, path, value);
    else if (value === true) setAt(request, path, "auto");
  }
  return request as unknown as ImageRequestOf<Model>;
}

/** Ratios that have a name; a size has the nearest one. */
const RATIOS = ["1:1", "4:3", "3:4", "3:2", "2:3", "16:9", "9:16", "21:9", "9:21"];

function sizeOf(value: string): FieldChoice {
  const [width, height] = numbersIn(value, "x");
  const distance = (ratio: string) => Math.abs(Math.log(numberOf(ratio) / (width / height)));
  const ratio = RATIOS.reduce((best, one) => (distance(one) < distance(best) ? one : best));
  const tier = `${Math.round(Math.sqrt(width * height) / 1024)}K`;
  return { value, label: `${ratio} · ${width} × ${height}`, width, height, ratio, tier };
}

function numberOf(ratio: string): number {
  const [width, height] = numbersIn(ratio, ":");
  return width / height;
}

function numbersIn(text: string, separator: string): readonly [number, number] {
  return text.split(separator).map(Number) as [number, number];
}
