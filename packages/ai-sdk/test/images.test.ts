import { APICallError, generateImage, NoImageGeneratedError } from "ai";
import { describe, expect, test } from "vitest";
import { open, routes } from "./support/routes.js";

const IMAGES = "/v1/images/generations";
const model = "gamma-image-5-0-260128";
const prompt = "A lock on a canal";

function catchFailure(run: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(run).then(
    () => undefined,
    (error) => error,
  );
}

describe.each(routes)("the image models, through the %s", (route) => {
  test.each([model, "gamma-image-4-0-250828"])(
    "%s generates an image, and returns its bytes and its link",
    async (id) => {
      const { sluice, listPaid } = open(route);
      const { image, providerMetadata, usage } = await generateImage({
        model: sluice.imageModel(id),
        prompt,
      });
      expect(image.mediaType).toBe("image/png");
      expect(image.uint8Array.length).toBeGreaterThan(1000);
      expect(providerMetadata.sluice?.images).toMatchObject([
        { url: expect.stringContaining("https://files.test/") },
      ]);
      expect(usage.totalTokens).toBeGreaterThan(0);
      expect(listPaid(IMAGES)).toHaveLength(1);
    },
  );

  test("Three images are three requests", async () => {
    const { sluice, listPaid } = open(route);
    const { images, warnings } = await generateImage({
      model: sluice.imageModel("gamma-image-4-0-250828"),
      size: "1024x1024",
      prompt,
      n: 3,
    });
    expect(images).toHaveLength(3);
    expect(warnings).toEqual([]);
    expect(listPaid(IMAGES)).toHaveLength(3);
  });
});

describe("an image", () => {
  // a quarter of the pixels
  const small = "gamma-image-4-0-250828";

  test("One failed image of three is a warning, and the others are returned", async () => {
    const { sluice, listPaid } = open("gateway", {
      emulator: { faults: ({ path }, nth) => (path === IMAGES && nth === 2 ? "refuse" : undefined) },
    });
    const { images, warnings } = await generateImage({ model: sluice.imageModel(small), prompt, n: 3 });
    expect(images).toHaveLength(2);
    expect(warnings).toMatchObject([
      { type: "other", message: expect.stringContaining("1 of 3 requests failed") },
    ]);
    expect(listPaid(IMAGES)).toHaveLength(2);
  });

  test("A lost response is an error, and the image is not created again", async () => {
    const { sluice, listPaid } = open();
    const error = await catchFailure(
      generateImage({ model: sluice.imageModel(small), prompt: `${prompt} [[drop]]` }),
    );
    expect(error).toMatchObject({
      name: "AI_APICallError",
      isRetryable: false,
      data: { billing: "maybe" },
    });
    expect(listPaid(IMAGES)).toHaveLength(1);
  });

  test("Only the client retries a temporary refusal", async () => {
    const { sluice, gateway, listPaid } = open();
    await generateImage({ model: sluice.imageModel(small), prompt: `${prompt} [[429:2]]` });
    const error = await catchFailure(
      generateImage({ model: sluice.imageModel(small), prompt: `${prompt} [[429]]` }),
    );
    expect(error).toMatchObject({ statusCode: 429, isRetryable: false });
    expect(gateway.requests.filter(({ method }) => method === "POST")).toHaveLength(6);
    expect(listPaid(IMAGES)).toHaveLength(1);
  });

  test("An image that cannot be downloaded is an error with its link, and is not created again", async () => {
    const { gateway, listPaid } = open();
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
    const error = await catchFailure(generateImage({ model: sluice.imageModel(small), prompt }));
    expect(error).toSatisfy(APICallError.isInstance);
    expect(error).toMatchObject({
      isRetryable: false,
      data: { billing: "maybe", urls: [expect.stringContaining("https://files.test/")] },
    });
    expect(listPaid(IMAGES)).toHaveLength(1);
  });

  test("A response without an image is not requested again", async () => {
    let requests = 0;
    const { sluice } = open("gateway", {
      client: {
        fetch: async () => {
          requests += 1;
          return Response.json({ data: [{ error: { message: "not allowed" } }] });
        },
      },
    });
    const error = await catchFailure(generateImage({ model: sluice.imageModel(small), prompt }));
    expect(error).toSatisfy(NoImageGeneratedError.isInstance);
    expect(requests).toBe(1);
  });

  test("A sequence is one request, and a missing image is a warning", async () => {
    const { sluice, listPaid } = open();
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
    expect(listPaid(IMAGES)).toHaveLength(1);
  });

  test.each([
    ["16:9", model, "2848x1600"],
    ["1:1", "gamma-image-4-0-250828", "1024x1024"],
    ["21:9", "gamma-image-4-0-250828", "1568x672"],
  ] as const)("The ratio %s selects the first size of that ratio of %s", async (aspectRatio, id, size) => {
    const { sluice, gateway } = open();
    const { warnings } = await generateImage({ model: sluice.imageModel(id), prompt, aspectRatio });
    expect(gateway.requests[0]?.body).toMatchObject({ size });
    expect(warnings).toEqual([]);
  });

  test("A ratio without a matching size is dropped with a warning, and an unknown size is an error", async () => {
    const { sluice, gateway } = open();
    const { warnings } = await generateImage({ model: sluice.imageModel(small), prompt, aspectRatio: "7:1" });
    expect(warnings).toMatchObject([{ type: "unsupported", feature: "aspectRatio" }]);
    const error = await catchFailure(
      generateImage({ model: sluice.imageModel(small), prompt, size: "10x10" }),
    );
    expect(error).toMatchObject({ data: { billing: "none", issues: [{ path: "size" }] } });
    expect(gateway.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("References are sent as links or bytes; a mask is an error, and nothing is sent", async () => {
    const { sluice, gateway } = open();
    const png = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13]);
    const images = ["https://images.example/reef.png", png];
    await generateImage({ model: sluice.imageModel(small), prompt: { text: prompt, images } });
    expect(gateway.requests[0]?.body).toMatchObject({
      image: ["https://images.example/reef.png", expect.stringMatching(/^data:image\/png;base64,iVBOR/)],
    });
    const masked = { text: prompt, images, mask: png };
    const error = await catchFailure(generateImage({ model: sluice.imageModel(small), prompt: masked }));
    expect(error).toMatchObject({ name: "AI_UnsupportedFunctionalityError", functionality: "mask" });
    expect(gateway.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("A stopped image is an abort, even if other images are ready", async () => {
    const { sluice } = open();
    const stop = new AbortController();
    const run = generateImage({
      model: sluice.imageModel(small),
      prompt: `${prompt} [[stall]]`,
      n: 2,
      abortSignal: stop.signal,
    });
    stop.abort();
    expect(await catchFailure(run)).toMatchObject({ name: "AbortError" });
  });
});
