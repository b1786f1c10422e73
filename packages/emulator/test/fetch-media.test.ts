import { createEmulator } from "@sluice/emulator";
import { expect, test } from "vitest";

const fetched: string[] = [];
const emulator = createEmulator({
  speed: Number.POSITIVE_INFINITY,
  fetchMedia: (address) => {
    if (address.includes("elsewhere")) return undefined;
    fetched.push(address);
    if (address.includes("broken")) return Promise.reject(new TypeError("fetch failed"));
    return Promise.resolve(new Response("a file", { status: address.includes("gone") ? 404 : 200 }));
  },
});

async function send(path: string, body: object): Promise<readonly [number, string | undefined]> {
  const headers = { "content-type": "application/json" };
  const url = `https://gateway.test${path}`;
  const response = await emulator.fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const json = (await response.json()) as { error?: { message: string } };
  return [response.status, json.error?.message];
}

const createVideoRequest = (type: string, url: string) =>
  send("/v1/video/generations", {
    model: "beta3.0-video",
    input: { prompt: "A reef", media: [{ type, url }] },
  });

test("the addresses of a video request are fetched, and an unreachable address is refused", async () => {
  expect((await createVideoRequest("reference_video", "https://app.test/video.mp4"))[0]).toBe(200);
  expect(await createVideoRequest("reference_video", "https://app.test/gone.mp4")).toEqual([
    400,
    "input.media.0.url can't be downloaded: HTTP 404.",
  ]);
  expect(await createVideoRequest("first_frame", "https://app.test/broken.png")).toEqual([
    400,
    "input.media.0.url can't be downloaded: there is no response.",
  ]);
  expect((await createVideoRequest("reference_video", "http://127.0.0.1:8787/video.mp4"))[0]).toBe(200);
  expect((await createVideoRequest("reference_video", "http://127.0.0.1:8787/gone.mp4"))[0]).toBe(400);
  expect((await createVideoRequest("reference_video", "http://10.0.0.1/video.mp4"))[0]).toBe(400);
  expect(fetched).toHaveLength(5);
});

test("the references of images are fetched, too", async () => {
  const body = { model: "gamma-image-5-0-260128", prompt: "A reef", size: "2048x2048" };
  expect((await send("/v1/images/generations", { ...body, image: ["https://app.test/a.png"] }))[0]).toBe(200);
  expect(await send("/v1/images/generations", { ...body, image: ["https://app.test/gone.png"] })).toEqual([
    400,
    "image.0 can't be downloaded: HTTP 404.",
  ]);
});

test("files in the request, and addresses for which fetchMedia returns undefined, are not fetched", async () => {
  fetched.length = 0;
  expect((await createVideoRequest("reference_video", "https://elsewhere.test/video.mp4"))[0]).toBe(200);
  expect((await createVideoRequest("first_frame", "data:image/png;base64,AAAA"))[0]).toBe(200);
  expect(fetched).toEqual([]);
});
