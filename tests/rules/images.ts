import { imageModels } from "@sluice/core/schemas";
import { type Rule, rulesOf } from "./rule.ts";

const png = "data:image/png;base64,iVBORw0KGgo=";

function rulesOfModel(model: keyof typeof imageModels, foreignSize: string): readonly Rule[] {
  const { family, sizes } = imageModels[model];
  const { rules, refuses, warns } = rulesOf({
    endpoint: "/v1/images/generations",
    section: `Images · ${model}`,
    prefix: `image.${family}`,
    request: { model, prompt: "A lock on a canal at dawn" },
  });
  refuses("prompt", "required", {}, { prompt: undefined });
  refuses("prompt", "string", {}, { prompt: 7 });
  refuses("image", "array of strings", { image: ["https://img.example.com/a.png"] }, { image: png });
  refuses(
    "image[]",
    "URL or Base64 data URI",
    { image: [png] },
    { image: ["blob:https://app.example.com/1"] },
    { path: "image.0" },
  );
  refuses(
    "sequential_image_generation",
    "auto",
    { sequential_image_generation: "auto" },
    { sequential_image_generation: "on" },
  );
  refuses(
    "…options.max_images",
    "integer from 1",
    { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 2 } },
    { sequential_image_generation_options: { max_images: 0 } },
    { path: "sequential_image_generation_options.max_images" },
  );
  for (const size of sizes) refuses("size", size, { size }, { size: foreignSize });
  refuses("watermark", "boolean", { watermark: true }, { watermark: "yes" });
  refuses("seed", "integer", { seed: 7 }, { seed: 0.5 });
  refuses("logo_info.add_logo", "boolean", { logo_info: { add_logo: true } }, { logo_info: { add_logo: 1 } });
  refuses("logo_info.position", "integer", { logo_info: { position: 1 } }, { logo_info: { position: 0.5 } });
  refuses("logo_info.language", "integer", { logo_info: { language: 0 } }, { logo_info: { language: "en" } });
  refuses("logo_info.opacity", "0 to 1", { logo_info: { opacity: 1 } }, { logo_info: { opacity: 1.1 } });
  for (const [field, value] of Object.entries({ n: 1, response_format: "b64_json", user: "u-1" }))
    warns(
      "(any other field)",
      `${field} is not in the list`,
      {},
      { [field]: value },
      { path: field, rule: "unknown-field" },
    );
  warns(
    "logo_info.(any other field)",
    "not in the list",
    {},
    { logo_info: { colour: "red" } },
    { path: "logo_info.colour", rule: "unknown-field" },
  );
  warns(
    "…options.max_images",
    "for sequences",
    {},
    { sequential_image_generation_options: { max_images: 2 } },
    { path: "sequential_image_generation_options.max_images", rule: "max-images-without-auto" },
  );
  warns("prompt", "generation or editing prompt", {}, { prompt: "" }, { rule: "prompt-empty" });
  warns("image", "omitted for text-to-image", {}, { image: [] }, { rule: "image-empty" });
  return rules;
}

export const imageRules: readonly Rule[] = [
  ...rulesOfModel("gamma-image-4-0-250828", "3072x3072"),
  ...rulesOfModel("gamma-image-5-0-260128", "1024x1024"),
];
