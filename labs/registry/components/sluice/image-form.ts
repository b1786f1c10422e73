import type { ImageModel, ImageRequest } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import {
  type FieldChoice,
  type FormField,
  type FormValues,
  pickParts,
  readValues,
  setAt,
} from "@/components/sluice/form-fields";

/** Form of an image request. */
interface ImageForm {
  /** Fields of the request. Not described: `model`, and `logo_info`, whose numbers the spec does not explain. */
  readonly fields: readonly FormField[];
}

/**
 * Describes the request of an image model for a form. Plain data, made from the tables of the spec.
 *
 * @example
 * ```tsx
 * const { fields } = createImageForm("gamma-image-5-0-260128");
 * const size = fields.find(({ name }) => name === "size");
 * if (size?.kind === "choice") show(size.choices); // [{ value: "2048x2048", label: "1:1 · 2048 × 2048", … }, …]
 * ```
 */
export function createImageForm(model: ImageModel): ImageForm {
  const row = models[model];
  return {
    fields: [
      pickParts("text", "prompt"),
      {
        ...pickParts("media", "image"),
        media: "image",
        accept: "image/png,image/jpeg,image/webp",
      },
      { ...pickParts("choice", "size"), choices: row.sizes.map(parseChoice) },
      {
        ...pickParts("number", "max_images", { path: "sequential_image_generation_options.max_images" }),
        min: 1,
        step: 1,
        default: 1,
      },
      {
        ...pickParts("switch", "watermark", { isAdvanced: true }),
        default: row.watermarkDefault,
      },
      { ...pickParts("number", "seed", { isAdvanced: true }), step: 1 },
    ],
  };
}

/**
 * Creates the request for `generate` of `useImages` from the values of a form. `checkRequest` of `@sluice/core/schemas`
 * lists its issues; the `path` of an issue is the `path` of a field.
 *
 * @example
 * ```tsx
 * const { generate } = useImages({ model: "gamma-image-5-0-260128" });
 * await generate(createImageRequest("gamma-image-5-0-260128", { prompt: "A reef at dawn", size: "2048x2048" }));
 * ```
 */
export function createImageRequest<Model extends ImageModel>(
  model: Model,
  values: FormValues,
): Extract<ImageRequest, { readonly model: Model }> {
  const { fields } = createImageForm(model);
  const request: Record<string, unknown> = { model, prompt: "" };
  const formValues = readValues(fields, values);
  for (const { name, path } of fields) {
    const value = formValues.get(name);
    // one image is not a set
    if (value === undefined || (name === "max_images" && value === 1)) continue;
    setAt(request, path, value);
    if (name === "max_images") request["sequential_image_generation"] = "auto";
  }
  return request as unknown as Extract<ImageRequest, { readonly model: Model }>;
}

/** Reads the values of the form from a request: the inverse of {@link createImageRequest}. */
export function readImageRequest(request: ImageRequest): FormValues {
  const {
    model: _,
    sequential_image_generation: __,
    sequential_image_generation_options: set,
    ...values
  } = request;
  return { ...(values as FormValues), max_images: set?.max_images };
}

/** Ratios that name the sizes. A size has the nearest ratio. */
const RATIOS = ["1:1", "4:3", "3:4", "3:2", "2:3", "16:9", "9:16", "21:9", "9:21"];

function parseChoice(value: string): FieldChoice {
  const [width, height] = parseNumbers(value, "x");
  const getDistance = (ratio: string) => Math.abs(Math.log(parseRatio(ratio) / (width / height)));
  const ratio = RATIOS.reduce((nearest, other) =>
    getDistance(other) < getDistance(nearest) ? other : nearest,
  );
  const tier = `${Math.round(Math.sqrt(width * height) / 1024)}K`;
  return { value, label: `${ratio} · ${width} × ${height}`, width, height, ratio, tier };
}

function parseRatio(ratio: string): number {
  const [width, height] = parseNumbers(ratio, ":");
  return width / height;
}

function parseNumbers(text: string, separator: string): readonly [number, number] {
  return text.split(separator).map(Number) as [number, number];
}
