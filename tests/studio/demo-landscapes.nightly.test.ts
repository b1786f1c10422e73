import { createEmulator } from "@sluice/emulator";
import { describe, expect, test } from "vitest";
import { findScene, scenes } from "../../examples/studio/demo/media/art/scenes.ts";
import { landscapes } from "../../examples/studio/demo/media/media.ts";
import { demoPrompts } from "../../examples/studio/demo/prompts.ts";
import { readBody, readBytes, readPNG, send } from "../../packages/emulator/test/support.ts";

/* The images of the studio's demo. */

const square = { width: 256, height: 256 };

type Color = readonly [red: number, green: number, blue: number];

const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, media: landscapes });

async function fetchURLs(fields: object): Promise<string[]> {
  const request = { model: "gamma-image-4-0-250828", size: "832x1248", seed: 3, ...fields };
  const { data } = await readBody<{ data: { url: string }[] }>(
    send(emulator, "/v1/images/generations", request),
  );
  return data.map(({ url }) => url);
}

const readImage = async (url = "") => readPNG(await readBytes(await emulator.fetch(url)));

describe("an image of the demo", () => {
  const subjects: [string, string, (color: Color) => boolean][] = [
    ["The open sea at noon", "water", ([red, , blue]: Color) => blue > red + 20],
    ["A valley at midnight", "darkness", (color) => Math.max(...color) < 110],
    ["A snowy valley at noon", "snow", (color) => Math.min(...color) > 110],
    ["An abstract shape in red", "red", ([red, green, blue]: Color) => red > Math.max(green, blue)],
  ];
  for (const [prompt, shown, isRight] of subjects)
    test(`An image of “${prompt}” shows ${shown}`, async () => {
      const [url] = await fetchURLs({ prompt });
      expect(isRight(lowerHalf(await readImage(url)))).toBe(true);
    });

  test("has a caption that says so where no scene fits, and none where a reference has one", async () => {
    const drawn = (prompt: string, base?: string) =>
      landscapes.image?.({ ...square, prompt, ...(base && { base }), seed: "1", index: 0 });
    expect(drawn("A red bicycle")).toBe("No scene fits: A red bicycle");
    expect(landscapes.video?.({ ...square, prompt: "A cat", seed: "1", index: 0, seconds: 1 })).toBe(
      "No scene fits: A cat",
    );
    expect(drawn("The same in red", "The open sea")).toMatchObject(square);
    const [url] = await fetchURLs({ prompt: "A red bicycle" });
    expect((await readImage(url)).width).toBe(832);
  });

  test("has a scene for each word of the list, and for each prompt that the studio offers", () => {
    expect(Object.keys(scenes).map((name) => findScene(name))).toEqual(Object.keys(scenes));
    const unfit = demoPrompts.filter(({ room, prompt }) => room !== "chat" && !findScene(prompt));
    expect(unfit).toEqual([]);
  });

  test("takes any prompt, however long and in whatever script", async () => {
    for (const prompt of ["", "雪の中の狐 🦊".repeat(500), "\ud800\u0000é"]) {
      const [url] = await fetchURLs({ prompt });
      expect((await readImage(url)).width).toBe(832);
    }
  });

  test("is another one for each image of a set, and has its size", async () => {
    const urls = await fetchURLs({
      prompt: "One valley in four seasons",
      sequential_image_generation: "auto",
    });
    const images = await Promise.all(urls.map(readImage));
    expect(images.map(({ width, height }) => `${width}x${height}`)).toEqual(Array(4).fill("832x1248"));
    expect(new Set(images.map(({ rows }) => rows.join())).size).toBe(4);
  });

  test("keeps its composition when it is edited", async () => {
    const image = await fetchURLs({ prompt: "A valley in summer at noon", seed: undefined });
    const readSkyColor = async (prompt: string) => {
      const [edited] = await fetchURLs({ prompt, image, seed: undefined });
      return (await readImage(edited)).rows.subarray(0, 832 * 3 * 100).join();
    };
    const same = await readSkyColor("Nothing else");
    expect(await readSkyColor("The same, with meadows in autumn")).toBe(same);
    expect(await readSkyColor("The same at night")).not.toBe(same);
  });
});

/** Computes the average color of the lower half of an image with the row filter "up". */
function lowerHalf({ width, height, rows }: { width: number; height: number; rows: Uint8Array }): Color {
  const stride = 3 * width + 1;
  const sum: [number, number, number] = [0, 0, 0];
  for (let at = 1; at < stride; at++) {
    let value = 0;
    for (let y = 0; y < height; y++) {
      value = (value + (rows[y * stride + at] ?? 0)) & 0xff;
      if (2 * y >= height) sum[(at - 1) % 3] = (sum[(at - 1) % 3] ?? 0) + value;
    }
  }
  const count = width * Math.floor(height / 2);
  return [sum[0] / count, sum[1] / count, sum[2] / count];
}
