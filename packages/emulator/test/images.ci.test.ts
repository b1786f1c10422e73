import { hash } from "node:crypto";
import { models } from "@sluice/core/schemas";
import { describe, expect, test } from "vitest";
import { createFastEmulator, readBody, readBytes, readPNG, send } from "./support.js";

/* Images that take long to draw: each size, up to 16 million pixels, and sets. */

/** Generates images, and fetches the files. */
async function generateImages(fields: object) {
  const emulator = createFastEmulator();
  const { data } = await readBody<{ data: { url: string; size: string }[] }>(
    send(emulator, "/v1/images/generations", {
      model: "gamma-image-4-0-250828",
      prompt: "A fox in the snow",
      ...fields,
    }),
  );
  return await Promise.all(
    data.map(async ({ url, size }) => ({ size, response: await emulator.fetch(url) })),
  );
}

const imageModels = Object.values(models).filter((model) => model.kind === "image");
describe.each(imageModels)("$id", ({ id: model, sizes }) => {
  test.each(sizes)("An image at %s is a PNG of this size", async (wanted) => {
    const [{ response, size } = expect.fail("no image")] = await generateImages({ model, size: wanted });
    const { width, height, rows } = await readPNG(await readBytes(response));
    expect([`${width}x${height}`, size]).toEqual([wanted, wanted]);
    expect(rows).toHaveLength(height * (3 * width + 1));
  });
});

test("The pixels differ for each image of a set", async () => {
  const set = await generateImages({ size: "864x1152", sequential_image_generation: "auto" });
  const images = await Promise.all(
    set.map(async ({ response }) => hash("sha1", (await readPNG(await readBytes(response))).rows)),
  );
  expect(new Set(images).size).toBe(4);
});

test("An image of the maximum size is a small file", async () => {
  const [{ response } = expect.fail("no image")] = await generateImages({ size: "6240x2656" });
  const bytes = await readBytes(response);
  expect(response.headers.get("content-length")).toBe(String(bytes.length));
  expect(bytes.length).toBeLessThan(200_000);
});
