import { generateImages } from "@sluice/core";
import { checkRequest, models } from "@sluice/core/schemas";
import { describe, expect, test } from "vitest";
import { catchError, createTestClient } from "./support/gateway.js";

const four = { model: "gamma-image-4-0-250828", prompt: "A reef" } as const;
const five = { model: "gamma-image-5-0-260128", prompt: "A reef" } as const;
const png = "data:image/png;base64,iVBORw0KGgo=";
const image = { url: "https://cdn.test/1.png?sig=1", size: "2048x2048" };
const body = {
  model: five.model,
  created: 1_755_000_000,
  data: [image],
  usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
};

const accepted: [string, object][] = [
  ["the smallest request", four],
  [
    "every field at once",
    {
      ...five,
      image: ["https://a.test/1.png", png],
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 4 },
      size: "2048x2048",
      watermark: true,
      seed: -7,
      logo_info: { add_logo: true, position: 1, language: 0, opacity: 0.5 },
    },
  ],
  ...Object.values(models).flatMap((row) =>
    row.kind !== "image"
      ? []
      : row.sizes.map((size): [string, object] => [
          `${row.id} in ${size}`,
          { model: row.id, prompt: "A reef", size },
        ]),
  ),
];

const refused: [string, object, string, string][] = [
  ["no prompt", { model: four.model }, "prompt", "image.4-0.prompt"],
  ["a size of the other model", { ...five, size: "1024x1024" }, "size", "image.5-0.size"],
  ["a size of the other model", { ...four, size: "3072x3072" }, "size", "image.4-0.size"],
  ["a size in words", { ...four, size: "2K" }, "size", "image.4-0.size"],
  ["one image outside a list", { ...four, image: png }, "image", "image.4-0.image"],
  ["an image nobody can fetch", { ...four, image: ["blob:x"] }, "image.0", "image.4-0.image"],
  [
    "another sequence mode",
    { ...four, sequential_image_generation: "on" },
    "sequential_image_generation",
    "image.4-0.sequential-image-generation",
  ],
  [
    "no images at all",
    { ...four, sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 0 } },
    "sequential_image_generation_options.max_images",
    "image.4-0.sequential-image-generation-options.max-images",
  ],
  ["a seed with a fraction", { ...four, seed: 1.5 }, "seed", "image.4-0.seed"],
  ["a watermark in words", { ...four, watermark: "yes" }, "watermark", "image.4-0.watermark"],
  [
    "too much logo",
    { ...four, logo_info: { opacity: 1.1 } },
    "logo_info.opacity",
    "image.4-0.logo-info.opacity",
  ],
  [
    "half a logo position",
    { ...four, logo_info: { position: 0.5 } },
    "logo_info.position",
    "image.4-0.logo-info.position",
  ],
  ["an unknown model", { model: "gamma-image-9" }, "model", "model"],
];

const warned: [string, object, string[]][] = [
  ["nothing in a usual request", four, []],
  ["an empty prompt", { ...four, prompt: " " }, ["prompt-empty"]],
  ["an empty list of images", { ...four, image: [] }, ["image-empty"]],
  [
    "max_images without a sequence",
    { ...four, sequential_image_generation_options: { max_images: 2 } },
    ["max-images-without-auto"],
  ],
];

describe("the rules of the image models (spec, POST /v1/images/generations)", () => {
  test.each(accepted)("accept %s", (_, request) => {
    expect(checkRequest(request)).toEqual({ issues: [], warnings: [] });
  });
  test.each(refused)("refuse %s", (_, request, path, rule) => {
    expect(checkRequest(request).issues).toMatchObject([{ path, rule }]);
  });
  test.each(warned)("warn about %s", (_, request, names) => {
    const { issues, warnings } = checkRequest(request);
    expect(issues).toEqual([]);
    expect(warnings.map(({ rule }) => rule.split(".").at(-1))).toEqual(names);
  });
  test("list the possible sizes", () => {
    expect(checkRequest({ ...five, size: "1024x1024" }).issues[0]?.message).toContain("4704x2016");
  });
});

describe("generateImages", () => {
  test("sends the request unchanged, and returns the images", async () => {
    const { client, requests } = createTestClient(() => Response.json(body));
    const request = { ...five, size: "2048x2048" } as const;
    expect(await generateImages(client, request)).toEqual({
      images: [image],
      usage: body.usage,
      created: body.created,
      model: five.model,
      raw: body,
    });
    expect(requests[0]?.url).toBe("https://gateway.test/v1/images/generations");
    expect(await requests[0]?.json()).toEqual(request);
  });

  test("keeps failed images at their positions", async () => {
    const data = [
      image,
      { error: { code: "policy", message: "not allowed" } },
      { size: "2048x2048" },
      { url: "https://cdn.test/4.png" },
      { error: { code: "OutputImageSensitiveContentDetected" } },
      { url: "", fail_reason: "unsafe" },
    ];
    const { client } = createTestClient(() => Response.json({ ...body, data }));
    const { images } = await generateImages(client, five);
    expect(images).toEqual([
      image,
      { error: { code: "policy", message: "not allowed" } },
      { error: { message: "the gateway gives no reason" } },
      { url: "https://cdn.test/4.png" },
      {
        error: {
          code: "OutputImageSensitiveContentDetected",
          message: "OutputImageSensitiveContentDetected",
        },
      },
      { error: { message: "unsafe" } },
    ]);
  });

  test.each([
    ["iVBORw0KGgoAAAANSUhEUg==", "image/png"],
    ["/9j/4AAQSkZJRgABAQ==", "image/jpeg"],
    ["R0lGODlhAQABAIAAAA==", "image/gif"],
    ["UklGRiQAAABXRUJQVlA4", "image/webp"],
    ["AAAAHGZ0eXBhdmlmAAAAAA==", "image/avif"],
    ["AAECAwQFBgcICQ==", "image/png"],
  ])("returns an image that came as Base64 as an address: %s", async (base64, type) => {
    const data = [{ b64_json: base64, size: "2048x2048" }];
    const { client } = createTestClient(() =>
      Response.json({ ...body, data }, { headers: { "x-sluice-features": "archive=1000" } }),
    );
    const { images, raw } = await generateImages(client, five);
    // the image is whole: it has no link that ends
    expect(images).toEqual([{ url: `data:${type};base64,${base64}`, size: "2048x2048" }]);
    expect(raw).toMatchObject({ data });
  });

  test("uses the requested format for a Base64 image whose bytes do not show one", async () => {
    const { client } = createTestClient(() => Response.json({ ...body, data: [{ b64_json: "AAEC\nAwQF" }] }));
    const request = { ...five, output_format: "jpeg" };
    expect((await generateImages(client, request, { checks: false })).images).toEqual([
      { url: "data:image/jpeg;base64,AAECAwQF" },
    ]);
  });

  test("returns the URL of an image instead of its Base64, and a data: URL unchanged", async () => {
    const whole = "data:image/webp;base64,UklGRg==";
    const data = [{ url: image.url, b64_json: "AAEC" }, { b64_json: whole }, { url: "", b64_json: "" }];
    const { client } = createTestClient(() => Response.json({ ...body, data }));
    expect((await generateImages(client, five)).images).toEqual([
      { url: image.url },
      { url: whole },
      { error: { message: "the gateway gives no reason" } },
    ]);
  });

  test.each([{ data: null }, { data: {} }, { data: undefined }])(
    "refuses a response without a list of images, which may be billed: %j",
    async (fields) => {
      const { client, requests } = createTestClient(() => Response.json({ ...body, ...fields }));
      expect(await catchError(generateImages(client, five))).toMatchObject({
        name: "ResponseError",
        path: "data",
        billing: "maybe",
      });
      expect(requests).toHaveLength(1);
    },
  );

  test.each([
    ["data.1.url", { data: [image, { url: 7 }] }, 2],
    ["data.1.b64_json", { data: [image, { b64_json: [1] }] }, 2],
    ["data.1.size", { data: [image, { url: image.url, size: [1, 2] }] }, 2],
    ["created", { created: "today" }, 1],
    ["model", { model: 5 }, 1],
    ["usage", { usage: 7 }, 1],
    ["usage.output_tokens", { usage: { generated_images: 1, output_tokens: "many" } }, 1],
  ])(
    "keeps the images of a response with a field of another type, and warns: %s",
    async (path, fields, count) => {
      const warned: string[] = [];
      const raw = { ...body, ...fields };
      const { client } = createTestClient(() => Response.json(raw), {
        onEvent: (event) => event.type === "warning" && warned.push(event.issue.path),
      });
      const result = await generateImages(client, five);
      expect(result).toMatchObject({ images: [image, ...Array(count - 1).fill({})], model: five.model, raw });
      expect(warned).toEqual([path]);
    },
  );

  test("accepts a bare address as an image", async () => {
    const { client } = createTestClient(() => Response.json({ data: [image.url] }));
    expect((await generateImages(client, five)).images).toEqual([{ url: image.url }]);
  });

  test("throws the error of a response with status 200", async () => {
    const { client } = createTestClient(() =>
      Response.json({ error: { message: "not allowed", code: "policy" } }),
    );
    expect(await catchError(generateImages(client, five))).toMatchObject({
      name: "APIError",
      code: "policy",
    });
  });

  test("does not send a request that breaks a rule, unless `checks` is false", async () => {
    const { client, requests } = createTestClient(() => Response.json(body));
    const request = { ...five, size: "1x1" } as const;
    // @ts-expect-error no size of this model
    expect(await catchError(generateImages(client, request))).toMatchObject({ name: "ValidationError" });
    expect(requests).toHaveLength(0);
    await generateImages(client, request, { checks: false });
    expect(await requests[0]?.json()).toEqual(request);
  });
});
