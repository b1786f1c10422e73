import { crc32 } from "node:zlib";
import type { Emulator, EmulatorOptions } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { describe, expect, test } from "vitest";
import {
  bodyOf,
  bytesOf,
  createFastEmulator,
  createLeapingClock,
  readPNG,
  refusalOf,
  send,
} from "./support.js";

const HOUR = 3_600_000;
const fox = { model: "gamma-image-4-0-250828", prompt: "A fox", size: "1024x1024" };
const reef = { model: "beta3.0-video", input: { prompt: "A reef" } };

async function imageURL(emulator: Emulator, fields: object = {}): Promise<string> {
  const { data } = await bodyOf<{ data: { url: string }[] }>(
    send(emulator, "/v1/images/generations", { ...fox, ...fields }),
  );
  return data[0]?.url ?? "";
}

type Colour = readonly [red: number, green: number, blue: number];

/** Average colour of the lower half of a picture whose rows have the filter "up". */
function lowerHalf({ width, height, rows }: { width: number; height: number; rows: Uint8Array }): Colour {
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

async function videoURL(emulator: Emulator): Promise<string> {
  const { id } = await bodyOf<{ id: string }>(send(emulator, "/v1/video/generations", reef));
  const { data } = await bodyOf<{ data: { result_url: string } }>(
    send(emulator, `/v1/video/generations/${id}`),
  );
  return data.result_url;
}

describe("an image", () => {
  test("is a sound PNG without alpha", async () => {
    const emulator = createFastEmulator();
    const response = await emulator.fetch(await imageURL(emulator));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("image/png");
    const { signature, chunks, bitDepth, colourType } = await readPNG(await bytesOf(response));
    expect(String.fromCharCode(...signature)).toBe("\x89PNG\r\n\x1a\n");
    expect([bitDepth, colourType]).toEqual([8, 2]);
    const types = chunks.map(({ type }) => type);
    expect([...new Set(types)]).toEqual(["IHDR", "iTXt", "IDAT", "IEND"]);
    for (const { type, content, crc } of chunks) expect(crc32(content, crc32(type))).toBe(crc);
  });

  test("carries its prompt, and shows no letters of it", async () => {
    const emulator = createFastEmulator();
    const { chunks } = await readPNG(await bytesOf(await emulator.fetch(await imageURL(emulator))));
    const texts = chunks.flatMap(({ type, content }) =>
      type === "iTXt" ? [new TextDecoder().decode(content)] : [],
    );
    expect(texts.map((text) => text.split("\0").filter(Boolean))).toEqual([
      ["Software", "Sluice emulator"],
      ["Description", "A fox"],
    ]);
  });

  const subjects: [string, string, (colour: Colour) => boolean][] = [
    ["Dunes in the desert at noon", "sand", ([red, , blue]: Colour) => red > blue + 20],
    ["The open sea at noon", "water", ([red, , blue]: Colour) => blue > red + 20],
    ["A forest at noon in summer", "leaves", ([red, green]: Colour) => green > red],
    ["A valley at midnight", "darkness", (colour) => Math.max(...colour) < 110],
    ["A snowy valley at noon", "snow", (colour) => Math.min(...colour) > 110],
    ["An abstract shape in red", "red", ([red, green, blue]: Colour) => red > Math.max(green, blue)],
  ];
  for (const [index, [prompt, shown, isRight]] of subjects.entries())
    test(`An image of “${prompt}” shows ${shown}`, { tags: index < 2 ? [] : ["long"] }, async () => {
      const emulator = createFastEmulator();
      const url = await imageURL(emulator, { prompt, seed: 3, size: "832x1248" });
      expect(isRight(lowerHalf(await readPNG(await bytesOf(await emulator.fetch(url)))))).toBe(true);
    });

  test("takes any prompt, however long and in whatever script", async () => {
    const emulator = createFastEmulator();
    for (const prompt of ["", " ", "雪の中の狐 🦊".repeat(500), "x".repeat(100_000), "\ud800\u0000é"]) {
      const response = await emulator.fetch(await imageURL(emulator, { prompt }));
      expect((await readPNG(await bytesOf(response))).width).toBe(1024);
    }
  });

  test("is made as it is read: a large one takes no large memory, and none when left", async () => {
    const emulator = createFastEmulator();
    const response = await emulator.fetch(await imageURL(emulator, { size: "6240x2656" }));
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let largest = 0;
    for (let piece = 0; piece < 6; piece++)
      largest = Math.max(largest, (await reader.read()).value?.length ?? 0);
    expect(largest).toBeLessThan(200_000);
    expect(emulator.requests.at(-1)).toMatchObject({ finished: false });
    await reader.cancel();
    expect(emulator.requests.at(-1)).toMatchObject({ finished: false, aborted: true });
  });
});

describe("the video", () => {
  test("is an MP4 with its index in front", async () => {
    const emulator = createFastEmulator();
    const response = await emulator.fetch(await videoURL(emulator));
    expect(response.headers.get("content-type")).toBe("video/mp4");
    const bytes = await bytesOf(response);
    expect(bytes.length).toBeLessThan(2_000_000);
    expect(response.headers.get("content-length")).toBe(String(bytes.length));
    const boxes: string[] = [];
    const view = new DataView(bytes.buffer);
    for (let at = 0; at < bytes.length; at += view.getUint32(at))
      boxes.push(String.fromCharCode(...bytes.subarray(at + 4, at + 8)));
    expect(boxes.filter((box) => box !== "free")).toEqual(["ftyp", "moov", "mdat"]);
  });

  test.each([
    ["bytes=0-99", 0, 99],
    ["bytes=100-", 100, -1],
    ["bytes=-50", -50, -1],
    ["bytes=0-0", 0, 0],
    ["bytes=0-99999999", 0, -1],
    ["bytes=-99999999", 0, -1],
  ])("gives the part that Range: %s asks for", async (range, first, last) => {
    const emulator = createFastEmulator();
    const url = await videoURL(emulator);
    const whole = await bytesOf(await emulator.fetch(url));
    const response = await emulator.fetch(url, { headers: { range } });
    const [from, to] = [first, last].map((at) => (at < 0 ? whole.length + at : at)) as [number, number];
    expect(response.status).toBe(206);
    expect(response.headers.get("content-range")).toBe(`bytes ${from}-${to}/${whole.length}`);
    expect(response.headers.get("content-length")).toBe(String(to - from + 1));
    expect(await bytesOf(response)).toEqual(whole.slice(from, to + 1));
  });

  test.each(["bytes=99999999-", "bytes=-0"])("says so when there is nothing at %s", async (range) => {
    const emulator = createFastEmulator();
    const url = await videoURL(emulator);
    const { length } = await bytesOf(await emulator.fetch(url));
    const response = await emulator.fetch(url, { headers: { range } });
    expect(response.status).toBe(416);
    expect(response.headers.get("content-range")).toBe(`bytes */${length}`);
  });

  test.each(["bytes=5-1", "bytes=0-1,4-5", "bytes=-", "lines=0-1", "what"])(
    "is given whole for Range: %s",
    async (range) => {
      const emulator = createFastEmulator();
      const response = await emulator.fetch(await videoURL(emulator), { headers: { range } });
      expect(response.status).toBe(200);
    },
  );

  test("is given whole when If-Range names another version", async () => {
    const emulator = createFastEmulator();
    const url = await videoURL(emulator);
    const etag = (await emulator.fetch(url)).headers.get("etag") ?? "";
    const statusWith = async (condition: string) =>
      (await emulator.fetch(url, { headers: { range: "bytes=0-9", "if-range": condition } })).status;
    expect([await statusWith(etag), await statusWith('"older"')]).toEqual([206, 200]);
  });
});

test("HEAD knows no ranges", async () => {
  const emulator = createFastEmulator();
  const init = { method: "HEAD", headers: { range: "bytes=0-9" } };
  const head = await emulator.fetch(await videoURL(emulator), init);
  expect(head.status).toBe(200);
  expect(Number(head.headers.get("content-length"))).toBeGreaterThan(10);
});

test.each([
  ["image", imageURL],
  ["video", videoURL],
])("HEAD describes the %s without sending it", async (_, urlOf) => {
  const emulator = createFastEmulator();
  const url = await urlOf(emulator);
  const get = await emulator.fetch(url);
  const head = await emulator.fetch(url, { method: "HEAD" });
  expect(head.status).toBe(200);
  expect(await head.text()).toBe("");
  for (const name of ["content-type", "content-length", "accept-ranges"])
    expect(head.headers.get(name)).toBe(get.headers.get(name));
  expect(emulator.requests.at(-1)).toMatchObject({ method: "HEAD", status: 200, finished: true });
});

describe("an address", () => {
  test("needs no key, and is good for a day", async () => {
    const clock = createLeapingClock();
    const emulator = createFastEmulator({ clock });
    const url = await imageURL(emulator);
    clock.pass(24 * HOUR - 1000);
    expect((await emulator.fetch(url)).status).toBe(200);
    clock.pass(1000);
    const response = await emulator.fetch(url);
    expect(response.status).toBe(403);
    expect(await refusalOf(response)).toMatchObject({ code: "url_expired" });
  });

  test("can't be made up or prolonged", async () => {
    const emulator = createFastEmulator();
    const url = new URL(await imageURL(emulator));
    const changed = (change: (made: URL) => void) => {
      const made = new URL(url);
      change(made);
      return emulator.fetch(made);
    };
    for (const response of [
      await changed((made) => made.searchParams.set("expires", "99999999999")),
      await changed((made) => made.searchParams.delete("signature")),
      await changed((made) => {
        made.search = "";
      }),
      await changed((made) => {
        made.pathname = "/files/other.png";
      }),
    ]) {
      expect(response.status).toBe(403);
      expect(await refusalOf(response)).toMatchObject({ code: "invalid_signature" });
    }
  });

  test("leads nowhere after a reset", async () => {
    const emulator = createFastEmulator();
    const url = await imageURL(emulator);
    emulator.reset();
    const response = await emulator.fetch(url);
    expect(response.status).toBe(404);
    expect(await refusalOf(response)).toMatchObject({ code: "file_not_found" });
  });

  test("leads nowhere once 5,000 younger files are there", async () => {
    const emulator = createFastEmulator();
    const url = await imageURL(emulator);
    const sequence = {
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 15 },
    };
    for (let made = 0; made < 5000; made += 15) await imageURL(emulator, sequence);
    expect((await emulator.fetch(url)).status).toBe(404);
  });

  test.each<[string, Partial<EmulatorOptions>, string]>([
    ["where the request came to", {}, "https://gateway.test/files/"],
    ["the origin that was asked for", { origin: "https://media.example/" }, "https://media.example/files/"],
  ])("begins with %s", async (_, options, start) => {
    const emulator = createFastEmulator(options);
    for (const url of [await imageURL(emulator), await videoURL(emulator)])
      expect(url.startsWith(start)).toBe(true);
  });

  test("works over a real socket, range included", async () => {
    const emulator = createFastEmulator();
    const served = await serve(emulator, { port: 0 });
    try {
      const overHTTP = {
        fetch: (input: string, init: RequestInit) => fetch(`${served.url}${new URL(input).pathname}`, init),
      };
      const urls = [await imageURL(overHTTP as Emulator), await videoURL(overHTTP as Emulator)];
      for (const url of urls) expect(url.startsWith(`${served.url}/files/`)).toBe(true);
      const [image = "", video = ""] = urls;
      expect((await readPNG(await bytesOf(await fetch(image)))).width).toBe(1024);
      const part = await fetch(video, { headers: { range: "bytes=4-7" } });
      expect([part.status, await part.text()]).toEqual([206, "ftyp"]);
      const head = await fetch(video, { method: "HEAD" });
      expect([head.status, head.headers.get("accept-ranges")]).toEqual([200, "bytes"]);
    } finally {
      await served.close();
    }
  });
});

test("other origins may read files with the cors option", async () => {
  const emulator = createFastEmulator({ cors: true });
  const url = await videoURL(emulator);
  const part = await emulator.fetch(url, { headers: { range: "bytes=0-9" } });
  expect(part.headers.get("access-control-allow-origin")).toBe("*");
  expect(part.headers.get("access-control-expose-headers")).toContain("content-range");
  const preflight = await emulator.fetch(url, { method: "OPTIONS" });
  expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, HEAD");
});

test("a network fault breaks a file as well", async () => {
  let fault: "reset" | undefined;
  const emulator = createFastEmulator({ faults: () => fault });
  const urls = [await imageURL(emulator), await videoURL(emulator)];
  fault = "reset";
  for (const url of urls)
    await expect((await emulator.fetch(url)).arrayBuffer()).rejects.toBeInstanceOf(TypeError);
});
