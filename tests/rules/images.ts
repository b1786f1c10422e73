import { createRules, type Rule } from "./rule.ts";

// biome-ignore format: the lists of the spec, read as blocks
const sizesOf40 = [
  "1024x1024", "864x1152", "1152x864", "1312x736", "736x1312", "832x1248", "1248x832", "1568x672",
  "2048x2048", "1728x2304", "2304x1728", "2848x1600", "1600x2848", "2496x1664", "1664x2496", "3136x1344",
  "4096x4096", "3520x4704", "4704x3520", "5504x3040", "3040x5504", "3328x4992", "4992x3328", "6240x2656",
];
// biome-ignore format: the lists of the spec, read as blocks
const sizesOf50 = [
  "2048x2048", "1728x2304", "2304x1728", "2848x1600", "1600x2848", "2496x1664", "1664x2496", "3136x1344",
  "3072x3072", "2592x3456", "3456x2592", "4096x2304", "2304x4096", "2496x3744", "3744x2496", "4704x2016",
];
const png = "data:image/png;base64,iVBORw0KGgo=";

function rulesOfModel(
  model: string,
  family: string,
  sizes: readonly string[],
  others: readonly string[],
): readonly Rule[] {
  const { rules, bounds, oneOf, refuses, warns } = createRules({
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
    { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 1 } },
    { sequential_image_generation_options: { max_images: 0 } },
    { path: "sequential_image_generation_options.max_images" },
  );
  const foreign = others.filter((size) => !sizes.includes(size));
  oneOf("size", sizes, [...foreign, "1024x1025", "2K", "2048X2048"]);
  refuses("watermark", "boolean", { watermark: true }, { watermark: "yes" });
  refuses("seed", "integer", { seed: 7 }, { seed: 0.5 });
  refuses("logo_info.add_logo", "boolean", { logo_info: { add_logo: true } }, { logo_info: { add_logo: 1 } });
  refuses("logo_info.position", "integer", { logo_info: { position: 1 } }, { logo_info: { position: 0.5 } });
  refuses("logo_info.language", "integer", { logo_info: { language: 0 } }, { logo_info: { language: "en" } });
  bounds("logo_info.opacity", [0, 1], 0.1, (opacity) => ({ logo_info: { opacity } }));
  for (const [field, value] of Object.entries({ n: 1, response_format: "b64_json", user: "u-1" }))
    warns(
      "(any other field)",
      `${field} is not in the list`,
      {},
      { [field]: value },
      { path: field, rule: "unknown-field" },
    );
  refuses("n", "no such field: one image, or a sequence", { n: 1 }, { n: 2 });
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
  ...rulesOfModel("gamma-image-4-0-250828", "4-0", sizesOf40, sizesOf50),
  ...rulesOfModel("gamma-image-5-0-260128", "5-0", sizesOf50, sizesOf40),
];
