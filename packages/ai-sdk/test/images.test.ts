import { APICallError, generateImage, NoImageGeneratedError } from "ai";
import { describe, expect, test } from "vitest";
import { open, places } from "./support/places.js";

const IMAGES = "/v1/images/generations";
const model = "gamma-image-5-0-260128";
const prompt = "A lock on a canal";

function failureOf(run: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(run).then(
    () => undefined,
    (error) => error,
  );
}

describe.each(places)("the image models, by way of the %s", (place) => {
  test.each([model, "gamma-image-4-0-250828"])("%s draws, and gives the bytes and the link", async (id) => {
    const { sluice, paid } = open(place);
    const { image, providerMetadata, usage } = await generateImage({ model: sluice.imageModel(id), prompt });
    expect(image.mediaType).toBe("image/png");
    expect(image.uint8Array.length).toBeGreaterThan(1000);
    expect(providerMetadata.sluice?.images).toMatchObject([
      { url: expect.stringContaining("https://files.test/") },
    ]);
    expect(usage.totalTokens).toBeGreaterThan(0);
    expect(paid(IMAGES)).toHaveLength(1);
  });

  test("Three images are three requests", async () => {
    const { sluice, paid } = open(place);
    const { images, warnings } = await generateImage({
      model: sluice.imageModel("gamma-image-4-0-250828"),
      size: "1024x1024",
      prompt,
      n: 3,
    });
    expect(images).toHaveLength(3);
    expect(warnings).toEqual([]);
    expect(paid(IMAGES)).toHaveLength(3);
  });
});

describe("an image", () => {
  // a quarter of the pixels to paint
  const small = "gamma-image-4-0-250828";

  test("An image that fails beside two others leaves these, with a warning", async () => {
    const { sluice, paid } = open("gateway", {
      emulator: { faults: ({ path }, nth) => (path === IMAGES && nth === 2 ? "refuse" : undefined) },
    });
    const { images, warnings } = await generateImage({ model: sluice.imageModel(small), prompt, n: 3 });
    expect(images).toHaveLength(2);
    expect(warnings).toMatchObject([
      { type: "other", message: expect.stringContaining("1 of 3 requests failed") },
    ]);
    expect(paid(IMAGES)).toHaveLength(2);
  });

  test("A response that is lost is an error, and the image is not made again", async () => {
    const { sluice, paid } = open();
    const error = await failureOf(
      generateImage({ model: sluice.imageModel(small), prompt: `${prompt} [[drop]]` }),
    );
    expect(error).toMatchObject({
      name: "AI_APICallError",
      isRetryable: false,
      data: { billing: "maybe" },
    });
    expect(paid(IMAGES)).toHaveLength(1);
  });

  test("A refusal for now is repeated by the client alone", async () => {
    const { sluice, gateway, paid } = open();
    await generateImage({ model: sluice.imageModel(small), prompt: `${prompt} [[429:2]]` });
    const error = await failureOf(
      generateImage({ model: sluice.imageModel(small), prompt: `${prompt} [[429]]` }),
    );
    expect(error).toMatchObject({ statusCode: 429, isRetryable: false });
    expect(gateway.requests.filter(({ method }) => method === "POST")).toHaveLength(6);
    expect(paid(IMAGES)).toHaveLength(1);
  });

  test("An image that was made and can't be read is an error with its link, and is not made again", async () => {
    const { gateway, paid } = open();
    const { sluice } = open("gateway", {
      client: {
        retry: { limit: 0 },
        fetch: async (request) => {
          if (request.url.startsWith("https://files.test")) throw new TypeError("fetch failed");
          request.headers.set("authorization", "Bearer sk-gateway-0123456789");
          return gateway.fetch(request);
        },
      },
    });
    const error = await failureOf(generateImage({ model: sluice.imageModel(small), prompt }));
    expect(error).toSatisfy(APICallError.isInstance);
    expect(error).toMatchObject({
      isRetryable: false,
      data: { billing: "maybe", urls: [expect.stringContaining("https://files.test/")] },
    });
    expect(paid(IMAGES)).toHaveLength(1);
  });

  test("An answer without an image is not asked for again", async () => {
    let requests = 0;
    const { sluice } = open("gateway", {
      client: {
        fetch: async () => {
          requests += 1;
          return Response.json({ data: [{ error: { message: "not allowed" } }] });
        },
      },
    });
    const error = await failureOf(generateImage({ model: sluice.imageModel(small), prompt }));
    expect(error).toSatisfy(NoImageGeneratedError.isInstance);
    expect(requests).toBe(1);
  });

  test("A sequence comes in one request, and the image that was not made is a warning", async () => {
    const { sluice, paid } = open();
    const { images, warnings } = await generateImage({
      model: sluice.imageModel(small),
      prompt: `${prompt} [[partial]]`,
      providerOptions: {
        sluice: {
          sequential_image_generation: "auto",
          sequential_image_generation_options: { max_images: 3 },
        },
      },
    });
    expect(images).toHaveLength(2);
    expect(warnings).toMatchObject([
      { type: "other", message: expect.stringContaining("an image was not made") },
    ]);
    expect(paid(IMAGES)).toHaveLength(1);
  });

  test.each([
    ["16:9", model, "2848x1600"],
    ["1:1", "gamma-image-4-0-250828", "1024x1024"],
    ["21:9", "gamma-image-4-0-250828", "1568x672"],
  ] as const)("The ratio %s is the first such size of %s", async (aspectRatio, id, size) => {
    const { sluice, gateway } = open();
    const { warnings } = await generateImage({ model: sluice.imageModel(id), prompt, aspectRatio });
    expect(gateway.requests[0]?.body).toMatchObject({ size });
    expect(warnings).toEqual([]);
  });

  test("A ratio that no size has is left out, with a warning; a size that the model lacks is an error", async () => {
    const { sluice, gateway } = open();
    const { warnings } = await generateImage({ model: sluice.imageModel(small), prompt, aspectRatio: "7:1" });
    expect(warnings).toMatchObject([{ type: "unsupported", feature: "aspectRatio" }]);
    const error = await failureOf(generateImage({ model: sluice.imageModel(small), prompt, size: "10x10" }));
    expect(error).toMatchObject({ data: { billing: "none", issues: [{ path: "size" }] } });
    expect(gateway.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("References go as links or bytes; a mask is an error, and nothing is sent", async () => {
    const { sluice, gateway } = open();
    const png = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13]);
    const images = ["https://images.example/reef.png", png];
    await generateImage({ model: sluice.imageModel(small), prompt: { text: prompt, images } });
    expect(gateway.requests[0]?.body).toMatchObject({
      image: ["https://images.example/reef.png", expect.stringMatching(/^data:image\/png;base64,iVBOR/)],
    });
    const masked = { text: prompt, images, mask: png };
    const error = await failureOf(generateImage({ model: sluice.imageModel(small), prompt: masked }));
    expect(error).toMatchObject({ name: "AI_UnsupportedFunctionalityError", functionality: "mask" });
    expect(gateway.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("A stopped image is an abort, also where others were made", async () => {
    const { sluice } = open();
    const stop = new AbortController();
    const run = generateImage({
      model: sluice.imageModel(small),
      prompt: `${prompt} [[stall]]`,
      n: 2,
      abortSignal: stop.signal,
    });
    stop.abort();
    expect(await failureOf(run)).toMatchObject({ name: "AbortError" });
  });
});
