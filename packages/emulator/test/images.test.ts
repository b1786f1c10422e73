import { hash } from "node:crypto";
import { models } from "@sluice/core/schemas";
import type { Emulator } from "@sluice/emulator";
import { describe, expect, test } from "vitest";
import {
  createFastEmulator,
  createLeapingClock,
  readBody,
  readBytes,
  readPNG,
  readRefusal,
  send,
} from "./support.js";

interface ImageResult {
  model: string;
  created: number;
  data: { url?: string; size?: string; error?: { code: string; message: string } }[];
  usage: { generated_images: number; output_tokens: number; total_tokens: number };
}

const PATH = "/v1/images/generations";
const fox = { model: "gamma-image-4-0-250828", prompt: "A fox in the snow" };

function generate(emulator: Emulator, fields: object = {}): Promise<ImageResult> {
  return readBody<ImageResult>(send(emulator, PATH, { ...fox, ...fields }));
}

async function fetchImage(emulator: Emulator, url = "") {
  return readPNG(await readBytes(await emulator.fetch(url)));
}

test("a result has every documented field", async () => {
  const clock = createLeapingClock();
  const result = await generate(createFastEmulator({ clock }), { size: "1024x1024" });
  expect(result).toEqual({
    model: "gamma-image-4-0-250828",
    created: clock.now() / 1000,
    data: [{ url: expect.stringMatching(/^https:\/\/gateway\.test\/files\/img_/), size: "1024x1024" }],
    usage: { generated_images: 1, output_tokens: 4096, total_tokens: 4096 },
  });
});

test.each(Object.values(models).filter((model) => model.kind === "image"))(
  "$id has a default size, and its PNG has this size",
  async ({ id: model, sizes }) => {
    const emulator = createFastEmulator();
    const { data } = await generate(emulator, { model });
    expect(sizes).toContain(data[0]?.size);
    const { width, height, rows } = await fetchImage(emulator, data[0]?.url);
    expect(`${width}x${height}`).toBe(data[0]?.size);
    expect(rows).toHaveLength(height * (3 * width + 1));
  },
);

describe("a sequence", () => {
  const auto = { sequential_image_generation: "auto" };
  const limitImages = (max_images: number) => ({ sequential_image_generation_options: { max_images } });

  test.each<[string, number, object]>([
    ["has max_images images", 3, { ...auto, ...limitImages(3) }],
    ["has as many images as the prompt says", 2, { ...auto, ...limitImages(5), prompt: "Two foxes" }],
    ["never has more than max_images images", 3, { ...auto, ...limitImages(3), prompt: "9 foxes" }],
    ["can have one image", 1, { ...auto, ...limitImages(1) }],
    ["has 4 images by default", 4, auto],
    ["has at most 15 images", 15, { ...auto, ...limitImages(1_000_000) }],
    ["needs sequential_image_generation", 1, limitImages(3)],
  ])("%s: %i", async (_, count, fields) => {
    const { data, usage } = await generate(createFastEmulator(), { ...fields, size: "1024x1024" });
    expect(data).toHaveLength(count);
    expect(new Set(data.map(({ url }) => url)).size).toBe(count);
    expect(usage).toEqual({
      generated_images: count,
      output_tokens: 4096 * count,
      total_tokens: 4096 * count,
    });
  });

  test("A sequence with [[partial]] has an error in place of one URL", async () => {
    const { data, usage } = await generate(createFastEmulator(), {
      ...auto,
      ...limitImages(3),
      prompt: "Foxes [[partial]]",
      size: "1024x1024",
    });
    expect(data).toEqual([
      { url: expect.any(String), size: "1024x1024" },
      { error: { code: expect.any(String), message: expect.any(String) } },
      { url: expect.any(String), size: "1024x1024" },
    ]);
    expect(usage).toMatchObject({ generated_images: 2, output_tokens: 8192 });
  });
});

describe("the pixels", () => {
  async function readPixels(emulator: Emulator, fields: object): Promise<string> {
    const { data } = await generate(emulator, { size: "864x1152", ...fields });
    const { rows } = await fetchImage(emulator, data[0]?.url);
    return hash("sha1", rows);
  }

  test("are the same for the same seed, and differ for another prompt or seed", async () => {
    const emulator = createFastEmulator();
    const first = await readPixels(emulator, { seed: 7 });
    expect(await readPixels(emulator, { seed: 7 })).toBe(first);
    expect(await readPixels(emulator, { seed: 8 })).not.toBe(first);
    expect(await readPixels(emulator, { seed: 7, prompt: "A fox in the sand" })).not.toBe(first);
  });

  test("differ each time without a seed", async () => {
    const emulator = createFastEmulator();
    expect(await readPixels(emulator, {})).not.toBe(await readPixels(emulator, {}));
  });

  test("stay similar when an image of the emulator is edited", async () => {
    const emulator = createFastEmulator();
    const size = "864x1152";
    const readSky = async (url = "") =>
      hash("sha1", (await fetchImage(emulator, url)).rows.subarray(0, 864 * 3 * 100));
    const { data } = await generate(emulator, { size, prompt: "A valley in summer at noon" });
    const [first] = data;
    const edited = await generate(emulator, { size, prompt: "The same at night", image: [first?.url] });
    const other = await generate(emulator, { size, prompt: "The same at night" });
    expect(await readSky(edited.data[0]?.url)).toBe(await readSky(first?.url));
    expect(await readSky(other.data[0]?.url)).not.toBe(await readSky(first?.url));
  });

  test("depend on the edited image and its seed", async () => {
    const emulator = createFastEmulator();
    const plain = await readPixels(emulator, { seed: 7 });
    const image = ["https://pictures.example/a.png"];
    const edited = await readPixels(emulator, { seed: 7, image });
    expect(edited).not.toBe(plain);
    expect(await readPixels(emulator, { seed: 8, image })).not.toBe(edited);
  });
});

test("the same requests in the same order get the same responses", async () => {
  const run = async () => {
    const emulator = createFastEmulator({ clock: createLeapingClock() });
    return [await generate(emulator), await generate(emulator), await generate(emulator, { seed: 1 })];
  };
  expect(await run()).toEqual(await run());
});

test("a generation takes some seconds, more for more images, less at a higher speed", async () => {
  const measureWait = async (speed: number, fields: object = {}) => {
    const clock = createLeapingClock();
    await generate(createFastEmulator({ clock, speed }), fields);
    return clock.sleeps;
  };
  const [one = 0] = await measureWait(1);
  expect(one).toBeGreaterThanOrEqual(2000);
  expect(one).toBeLessThan(20_000);
  expect((await measureWait(1, { sequential_image_generation: "auto" }))[0]).toBeGreaterThan(one);
  expect((await measureWait(10))[0]).toBeCloseTo(one / 10);
  expect((await measureWait(1, { prompt: "[[slow]]" }))[0]).toBeGreaterThan(5 * one);
  expect(await measureWait(Infinity)).toEqual([]);
});

test("a generation takes as long as durations.imageMs says, whatever its number of images", async () => {
  const clock = createLeapingClock();
  const emulator = createFastEmulator({ clock, speed: 2, durations: { imageMs: 3000 } });
  await generate(emulator, { sequential_image_generation: "auto" });
  expect(clock.sleeps).toEqual([1500]);
});

test("an abort ends the wait", async () => {
  const controller = new AbortController();
  const emulator = createFastEmulator({ speed: 0.001 });
  const response = send(emulator, PATH, fox, { signal: controller.signal });
  controller.abort();
  await expect(response).rejects.toMatchObject({ name: "AbortError" });
  expect(emulator.requests[0]).toMatchObject({ aborted: true, status: undefined });
});

describe("the rules", () => {
  test.each<[string, object]>([
    ["prompt", { prompt: 7 }],
    ["size", { size: "1x1" }],
    ["size", { model: "gamma-image-5-0-260128", size: "1024x1024" }],
    ["image", { image: "https://pictures.example/a.png" }],
    ["image.1", { image: ["https://pictures.example/a.png", "b.png"] }],
    ["sequential_image_generation", { sequential_image_generation: "always" }],
    [
      "sequential_image_generation_options.max_images",
      { sequential_image_generation_options: { max_images: 0 } },
    ],
    ["seed", { seed: 0.5 }],
    ["watermark", { watermark: "no" }],
    ["logo_info.opacity", { logo_info: { opacity: 2 } }],
  ])("refuse %s in %o", async (param, fields) => {
    const response = await send(createFastEmulator(), PATH, { ...fox, ...fields });
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toMatchObject({ code: "invalid_parameter", param });
  });

  test("refuse models of other endpoints", async () => {
    const response = await send(createFastEmulator(), PATH, { ...fox, model: "delta-5.3" });
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toMatchObject({ code: "model_not_found", param: "model" });
  });
});

describe("faults", () => {
  test("[[429:1]] and [[500]] refuse", async () => {
    const emulator = createFastEmulator();
    const readStatus = async (prompt: string) => (await send(emulator, PATH, { ...fox, prompt })).status;
    expect([await readStatus("[[429:1]]"), await readStatus("[[429:1]]")]).toEqual([429, 200]);
    expect([await readStatus("[[500]]"), await readStatus("[[500]]")]).toEqual([500, 500]);
  });

  test("[[truncate:1]] breaks the first response to a body, and counts no refusal of it", async () => {
    const emulator = createFastEmulator();
    const request = { ...fox, prompt: "[[429:1]] [[truncate:1]]" };
    const readOutcome = async () => {
      const response = await send(emulator, PATH, request);
      if (!response.ok) return response.status;
      return response.json().then(
        () => "whole",
        () => "half",
      );
    };
    expect([await readOutcome(), await readOutcome(), await readOutcome()]).toEqual([429, "half", "whole"]);
  });

  test("[[truncate]] and [[malformed]] return no JSON, [[drop]] breaks off", async () => {
    const emulator = createFastEmulator();
    for (const fault of ["[[truncate]]", "[[malformed]]"])
      await expect((await send(emulator, PATH, { ...fox, prompt: fault })).json()).rejects.toThrow(
        SyntaxError,
      );
    await expect((await send(emulator, PATH, { ...fox, prompt: "[[drop]]" })).text()).rejects.toBeInstanceOf(
      TypeError,
    );
  });

  test("[[stall]] never responds", async () => {
    const controller = new AbortController();
    const response = send(
      createFastEmulator(),
      PATH,
      { ...fox, prompt: "[[stall]]" },
      { signal: controller.signal },
    );
    controller.abort(new Error("enough"));
    await expect(response).rejects.toThrow("enough");
  });
});
