import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Emulator, EmulatorOptions } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { beforeAll, describe, expect, test } from "vitest";
import {
  createFastEmulator,
  createLeapingClock,
  readBody,
  readBytes,
  readPNG,
  readRefusal,
  send,
} from "./support.js";

type Media = NonNullable<EmulatorOptions["media"]>;
type ImageDescription = Parameters<NonNullable<Media["image"]>>[0];
type VideoDescription = Parameters<NonNullable<Media["video"]>>[0];

const HOUR = 3_600_000;
const fox = { model: "gamma-image-4-0-250828", prompt: "A fox", size: "1024x1024" };
const reef = { model: "beta3.0-video", input: { prompt: "A reef" } };

async function createImageURL(emulator: Emulator, fields: object = {}): Promise<string> {
  const { data } = await readBody<{ data: { url: string }[] }>(
    send(emulator, "/v1/images/generations", { ...fox, ...fields }),
  );
  return data[0]?.url ?? "";
}

/** Counts the different pixels in each row of an image whose rows have the filter "up". */
function countColorsInRows({
  width,
  height,
  rows,
}: {
  width: number;
  height: number;
  rows: Uint8Array;
}): number[] {
  const stride = 3 * width + 1;
  const row = new Uint8Array(stride);
  return Array.from({ length: height }, (_, y) => {
    for (let index = 1; index < stride; index++)
      row[index] = (row[index] ?? 0) + (rows[y * stride + index] ?? 0);
    const colors = new Set<number>();
    for (let index = 1; index < stride; index += 3)
      colors.add(((row[index] ?? 0) << 16) | ((row[index + 1] ?? 0) << 8) | (row[index + 2] ?? 0));
    return colors.size;
  });
}

async function createVideoURL(emulator: Emulator): Promise<string> {
  const { id } = await readBody<{ id: string }>(send(emulator, "/v1/video/generations", reef));
  const { data } = await readBody<{ data: { result_url: string } }>(
    send(emulator, `/v1/video/generations/${id}`),
  );
  return data.result_url;
}

describe("an image", () => {
  test("is a valid PNG without alpha", async () => {
    const emulator = createFastEmulator();
    const response = await emulator.fetch(await createImageURL(emulator));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("image/png");
    const { signature, chunks, bitDepth, colourType } = await readPNG(await readBytes(response));
    expect(String.fromCharCode(...signature)).toBe("\x89PNG\r\n\x1a\n");
    expect([bitDepth, colourType]).toEqual([8, 2]);
    const types = chunks.map(({ type }) => type);
    expect([...new Set(types)]).toEqual(["IHDR", "iTXt", "IDAT", "IEND"]);
    for (const { type, content, crc } of chunks) expect(crc32(content, crc32(type))).toBe(crc);
  });

  test("contains its prompt as text", async () => {
    const emulator = createFastEmulator();
    const { chunks } = await readPNG(await readBytes(await emulator.fetch(await createImageURL(emulator))));
    const texts = chunks.flatMap(({ type, content }) =>
      type === "iTXt" ? [new TextDecoder().decode(content)] : [],
    );
    expect(texts.map((text) => text.split("\0").filter(Boolean))).toEqual([
      ["Software", "Sluice emulator"],
      ["Description", "A fox"],
    ]);
  });

  test("shows its prompt as a caption in the middle, which grows with it", async () => {
    const emulator = createFastEmulator();
    const readCaption = async (prompt: string) => {
      const url = await createImageURL(emulator, { prompt, seed: 3, size: "864x1152" });
      const colors = countColorsInRows(await readPNG(await readBytes(await emulator.fetch(url))));
      return [Math.max(...colors), colors.indexOf(2), colors.lastIndexOf(2)];
    };
    expect(await readCaption("[[partial]]")).toEqual([1, -1, -1]);
    const [longest, first = 0, last = 0] = await readCaption("A fox");
    expect(longest).toBe(2);
    expect(Math.abs(first + last - 1152)).toBeLessThan(30);
    const [, firstOfMany = 0, lastOfMany = 0] = await readCaption(
      "A fox that looks for its way home in the snow",
    );
    expect(lastOfMany - firstOfMany).toBeGreaterThan(last - first);
  });

  test("has the pixels that the option `media` returns", async () => {
    const fill = (_: number, row: Uint8Array) => row.fill(200);
    const emulator = createFastEmulator({ media: { image: ({ width }) => ({ width, height: 8, fill }) } });
    const image = await readPNG(await readBytes(await emulator.fetch(await createImageURL(emulator))));
    expect([image.width, image.height]).toEqual([1024, 8]);
    // the filter "up": the first row itself, then the difference to it
    expect([image.rows[1], image.rows[3 * 1024 + 2]]).toEqual([200, 0]);
  });

  test("has the text that the option `media` returns as its caption", async () => {
    const draw = async (prompt: string, media?: EmulatorOptions["media"]) => {
      const emulator = createFastEmulator(media ? { media } : {});
      const url = await createImageURL(emulator, { prompt, seed: 3, size: "864x1152" });
      return hash("sha1", (await readPNG(await readBytes(await emulator.fetch(url)))).rows);
    };
    const captioned = await draw("A fox", { image: ({ prompt }) => `No fault fits: ${prompt}` });
    expect(captioned).not.toBe(await draw("A fox"));
    expect(await draw("A fox", { image: ({ prompt }) => prompt })).toBe(await draw("A fox"));
  });

  test("accepts any prompt, however long and in whatever script", async () => {
    const emulator = createFastEmulator();
    for (const prompt of ["", " ", "雪の中の狐 🦊".repeat(500), "x".repeat(100_000), "\ud800\u0000é"]) {
      const response = await emulator.fetch(await createImageURL(emulator, { prompt }));
      expect((await readPNG(await readBytes(response))).width).toBe(1024);
    }
  });
});

describe("the option media", () => {
  const gif = new Blob([Uint8Array.of(71, 73, 70)], { type: "image/gif" });

  test("decides what an image is, by its description", async () => {
    const described: ImageDescription[] = [];
    const image = (description: ImageDescription) => {
      described.push(description);
      return gif;
    };
    const emulator = createFastEmulator({ media: { image } });
    const first = await createImageURL(emulator, { prompt: "A fox [[slow]]", seed: 1 });
    const response = await emulator.fetch(first);
    expect([response.headers.get("content-type"), await response.text()]).toEqual(["image/gif", "GIF"]);
    await emulator.fetch(await createImageURL(emulator, { prompt: "In snow", seed: 1, image: [first] }));
    await emulator.fetch(await createImageURL(emulator, { image: ["data:image/jpeg;base64,AAAA"] }));
    const color = expect.stringMatching(/^#[0-9a-f]{6}$/);
    const size = { width: 1024, height: 1024, index: 0, seed: expect.any(String) };
    expect(described).toEqual([
      { ...size, prompt: "A fox" },
      { ...size, prompt: "In snow", base: "A fox " },
      { ...size, prompt: "A fox", colors: [color, color, color] },
    ]);
  });

  test("decides what a video is, and gets its length; the last frame is an image", async () => {
    const described: object[] = [];
    const media = {
      video: (description: VideoDescription) => {
        described.push(description);
        return Promise.resolve(new Blob(["moving"], { type: "video/webm" }));
      },
      image: (description: ImageDescription) => {
        described.push(description);
        return gif;
      },
    };
    const emulator = createFastEmulator({ media });
    const request = {
      model: "gamma-video-2.0",
      content: [{ type: "text", text: "A reef [[flat]]" }],
      ratio: "9:16",
      duration: 7,
      return_last_frame: true,
    };
    const { id } = await readBody<{ id: string }>(send(emulator, "/v1/video/generations", request));
    const { content } = await readBody<{ content: { video_url: string; last_frame_url: string } }>(
      send(emulator, `/v1/video/generations/${id}`),
    );
    const part = await emulator.fetch(content.video_url, { headers: { range: "bytes=0-2" } });
    expect([part.status, part.headers.get("content-type"), await part.text()]).toEqual([
      206,
      "video/webm",
      "mov",
    ]);
    await emulator.fetch(content.last_frame_url);
    const image = { width: 480, height: 856, index: 0, seed: id, prompt: "A reef" };
    expect(described).toEqual([
      { ...image, seconds: 7 },
      { ...image, isLastFrame: true },
    ]);
  });

  test("runs once for all ranges of a file, and again after four other files", async () => {
    let calls = 0;
    const image = () => {
      calls += 1;
      return gif;
    };
    const emulator = createFastEmulator({ media: { image } });
    const urls = await Promise.all([1, 2, 3, 4, 5].map((seed) => createImageURL(emulator, { seed })));
    const [first = ""] = urls;
    await emulator.fetch(first);
    await emulator.fetch(first, { headers: { range: "bytes=0-0" } });
    expect(calls).toBe(1);
    for (const url of urls) await emulator.fetch(url);
    expect(calls).toBe(5);
    await emulator.fetch(first);
    expect(calls).toBe(6);
  });

  test("breaks a response with its error, and is fetched again the next time", async () => {
    const problems = [new Error("no fixture")];
    const image = async () => {
      const problem = problems.pop();
      if (problem) throw problem;
      return gif;
    };
    const emulator = createFastEmulator({ media: { image } });
    const url = await createImageURL(emulator);
    await expect(emulator.fetch(url)).rejects.toThrow("no fixture");
    expect((await emulator.fetch(url)).status).toBe(200);
  });
});

describe("the video", () => {
  // all tests fetch parts of one file, since each file is encoded once
  const emulator = createFastEmulator();
  let url = "";
  beforeAll(async () => {
    url = await createVideoURL(emulator);
  });

  test("is an MP4 with its index in front", async () => {
    const response = await emulator.fetch(url);
    expect(response.headers.get("content-type")).toBe("video/mp4");
    const bytes = await readBytes(response);
    expect(bytes.length).toBeLessThan(2_000_000);
    expect(response.headers.get("content-length")).toBe(String(bytes.length));
    const boxes: string[] = [];
    const view = new DataView(bytes.buffer);
    for (let position = 0; position < bytes.length; position += view.getUint32(position))
      boxes.push(String.fromCharCode(...bytes.subarray(position + 4, position + 8)));
    expect(boxes.filter((box) => box !== "free")).toEqual(["ftyp", "moov", "mdat"]);
  });

  test.each([
    ["bytes=0-99", 0, 99],
    ["bytes=100-", 100, -1],
    ["bytes=-50", -50, -1],
    ["bytes=0-0", 0, 0],
    ["bytes=0-99999999", 0, -1],
    ["bytes=-99999999", 0, -1],
  ])("returns the part that Range: %s names", async (range, first, last) => {
    const whole = await readBytes(await emulator.fetch(url));
    const response = await emulator.fetch(url, { headers: { range } });
    const [from, to] = [first, last].map((index) => (index < 0 ? whole.length + index : index)) as [
      number,
      number,
    ];
    expect(response.status).toBe(206);
    expect(response.headers.get("content-range")).toBe(`bytes ${from}-${to}/${whole.length}`);
    expect(response.headers.get("content-length")).toBe(String(to - from + 1));
    expect(Buffer.compare(await readBytes(response), whole.slice(from, to + 1))).toBe(0);
  });

  test.each(["bytes=99999999-", "bytes=-0"])("returns 416 for the range %s", async (range) => {
    const { length } = await readBytes(await emulator.fetch(url));
    const response = await emulator.fetch(url, { headers: { range } });
    expect(response.status).toBe(416);
    expect(response.headers.get("content-range")).toBe(`bytes */${length}`);
  });

  test.each(["bytes=5-1", "bytes=0-1,4-5", "bytes=-", "lines=0-1", "what"])(
    "is returned whole for Range: %s",
    async (range) => {
      const response = await emulator.fetch(url, { headers: { range } });
      expect(response.status).toBe(200);
    },
  );

  test("is returned whole when If-Range names another version", async () => {
    const etag = (await emulator.fetch(url)).headers.get("etag") ?? "";
    const fetchStatus = async (condition: string) =>
      (await emulator.fetch(url, { headers: { range: "bytes=0-9", "if-range": condition } })).status;
    expect([await fetchStatus(etag), await fetchStatus('"older"')]).toEqual([206, 200]);
  });
});

test("HEAD ignores Range", async () => {
  const emulator = createFastEmulator();
  const init = { method: "HEAD", headers: { range: "bytes=0-9" } };
  const head = await emulator.fetch(await createVideoURL(emulator), init);
  expect(head.status).toBe(200);
  expect(Number(head.headers.get("content-length"))).toBeGreaterThan(10);
});

test.each([
  ["image", createImageURL],
  ["video", createVideoURL],
])("HEAD describes the %s without sending it", async (_, createURL) => {
  const emulator = createFastEmulator();
  const url = await createURL(emulator);
  const get = await emulator.fetch(url);
  const head = await emulator.fetch(url, { method: "HEAD" });
  expect(head.status).toBe(200);
  expect(await head.text()).toBe("");
  for (const name of ["content-type", "content-length", "accept-ranges"])
    expect(head.headers.get(name)).toBe(get.headers.get(name));
  expect(emulator.requests.at(-1)).toMatchObject({ method: "HEAD", status: 200, finished: true });
});

describe("the URL of a file", () => {
  test("needs no key, and is valid for a day", async () => {
    const clock = createLeapingClock();
    const emulator = createFastEmulator({ clock });
    const url = await createImageURL(emulator);
    clock.pass(24 * HOUR - 1000);
    expect((await emulator.fetch(url)).status).toBe(200);
    clock.pass(1000);
    const response = await emulator.fetch(url);
    expect(response.status).toBe(403);
    expect(await readRefusal(response)).toMatchObject({ code: "url_expired" });
  });

  test("can't be forged or prolonged", async () => {
    const emulator = createFastEmulator();
    const url = new URL(await createImageURL(emulator));
    const changeURL = (change: (changed: URL) => void) => {
      const changed = new URL(url);
      change(changed);
      return emulator.fetch(changed);
    };
    for (const response of [
      await changeURL((changed) => changed.searchParams.set("expires", "99999999999")),
      await changeURL((changed) => changed.searchParams.delete("signature")),
      await changeURL((changed) => {
        changed.search = "";
      }),
      await changeURL((changed) => {
        changed.pathname = "/files/other.png";
      }),
    ]) {
      expect(response.status).toBe(403);
      expect(await readRefusal(response)).toMatchObject({ code: "invalid_signature" });
    }
  });

  test("is not found after a reset", async () => {
    const emulator = createFastEmulator();
    const url = await createImageURL(emulator);
    emulator.reset();
    const response = await emulator.fetch(url);
    expect(response.status).toBe(404);
    expect(await readRefusal(response)).toMatchObject({ code: "file_not_found" });
  });

  test("is not found once there are 5,000 newer files", async () => {
    const emulator = createFastEmulator();
    const url = await createImageURL(emulator);
    const sequence = {
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 15 },
    };
    for (let files = 0; files < 5000; files += 15) await createImageURL(emulator, sequence);
    expect((await emulator.fetch(url)).status).toBe(404);
  });

  test.each<[string, Partial<EmulatorOptions>, string]>([
    ["the origin of the request", {}, "https://gateway.test/files/"],
    ["the option origin", { origin: "https://media.example/" }, "https://media.example/files/"],
  ])("begins with %s", async (_, options, start) => {
    const emulator = createFastEmulator(options);
    for (const url of [await createImageURL(emulator), await createVideoURL(emulator)])
      expect(url.startsWith(start)).toBe(true);
  });

  test("works over a real socket, with ranges", async () => {
    const emulator = createFastEmulator();
    const served = await serve(emulator, { port: 0 });
    try {
      const overHTTP = {
        fetch: (input: string, init: RequestInit) => fetch(`${served.url}${new URL(input).pathname}`, init),
      };
      const urls = [await createImageURL(overHTTP as Emulator), await createVideoURL(overHTTP as Emulator)];
      for (const url of urls) expect(url.startsWith(`${served.url}/files/`)).toBe(true);
      const [image = "", video = ""] = urls;
      expect((await readPNG(await readBytes(await fetch(image)))).width).toBe(1024);
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
  const url = await createVideoURL(emulator);
  const part = await emulator.fetch(url, { headers: { range: "bytes=0-9" } });
  expect(part.headers.get("access-control-allow-origin")).toBe("*");
  expect(part.headers.get("access-control-expose-headers")).toContain("content-range");
  const preflight = await emulator.fetch(url, { method: "OPTIONS" });
  expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, HEAD");
});

test("a network fault breaks a file as well", async () => {
  let fault: "reset" | undefined;
  const emulator = createFastEmulator({ faults: () => fault });
  const urls = [await createImageURL(emulator), await createVideoURL(emulator)];
  fault = "reset";
  for (const url of urls)
    await expect((await emulator.fetch(url)).arrayBuffer()).rejects.toBeInstanceOf(TypeError);
});
