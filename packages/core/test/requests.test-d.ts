import {
  type AssetRequest,
  type Client,
  createVideoTask,
  generateImages,
  getAsset,
  type ImageRequest,
  type VideoRequest,
  watchVideoTask,
} from "@sluice/core";
import { expectTypeOf, test } from "vitest";

declare const client: Client;
const image = (_: ImageRequest) => {};
const video = (_: VideoRequest) => {};
const asset = (_: AssetRequest) => {};
const prompt = "A reef";
const url = "https://media.test/a";
const text = { type: "text", text: "A reef" } as const;
const first = { type: "image_url", image_url: { url }, role: "first_frame" } as const;
const last = { ...first, role: "last_frame" } as const;

test("an image model has its own sizes", () => {
  image({ model: "gamma-image-4-0-250828", prompt, size: "1024x1024" });
  image({ model: "gamma-image-5-0-260128", prompt, size: "3072x3072", image: [url] });
  // @ts-expect-error a size of the other model
  image({ model: "gamma-image-5-0-260128", prompt, size: "1024x1024" });
  // @ts-expect-error a size of the other model
  image({ model: "gamma-image-4-0-250828", prompt, size: "3072x3072" });
  // @ts-expect-error no prompt
  image({ model: "gamma-image-4-0-250828" });
  // @ts-expect-error images are a list
  image({ model: "gamma-image-4-0-250828", prompt, image: url });
});

test("beta has prompt or media, and frames or references", () => {
  video({ model: "beta3.0-video", input: { prompt }, parameters: { resolution: "1080P", duration: -1 } });
  video({
    model: "beta3.0-video-prime",
    input: {
      media: [
        { type: "first_frame", url },
        { type: "last_frame", url },
      ],
    },
  });
  video({
    model: "beta3.0-video",
    input: {
      prompt,
      media: [
        { type: "reference_image", url },
        { type: "link", url },
      ],
    },
  });
  // @ts-expect-error neither prompt nor media
  video({ model: "beta3.0-video", input: {} });
  const mixed = [
    { type: "first_frame", url },
    { type: "reference_image", url },
  ] as const;
  // @ts-expect-error frames exclude references
  video({ model: "beta3.0-video", input: { media: mixed } });
  // @ts-expect-error gamma's case
  video({ model: "beta3.0-video", input: { prompt }, parameters: { resolution: "1080p" } });
  // @ts-expect-error gamma's shape
  video({ model: "beta3.0-video", content: [text] });
});

test("gamma-video-1 has different types for text to video and image to video", () => {
  video({ model: "gamma-video-1-5-pro-251215", content: [text], camera_fixed: true });
  video({ model: "gamma-video-1-5-pro-251215", content: [text, first, last], ratio: "adaptive" });
  video({ model: "gamma-video-1-0-pro-fast-251015", content: [text], camera_fixed: true });
  video({ model: "gamma-video-1-0-pro-fast-251015", content: [text, first], ratio: "adaptive" });
  // @ts-expect-error beta's case
  video({ model: "gamma-video-1-5-pro-251215", content: [text], resolution: "720P" });
  // @ts-expect-error the camera is fixed in text-to-video only
  video({ model: "gamma-video-1-5-pro-251215", content: [text, first], camera_fixed: true });
  // @ts-expect-error the camera is fixed in text-to-video only
  video({ model: "gamma-video-1-0-pro-fast-251015", content: [text, first], camera_fixed: true });
  // @ts-expect-error it has no last frame
  video({ model: "gamma-video-1-0-pro-fast-251015", content: [text, last] });
  // @ts-expect-error it has no sound
  video({ model: "gamma-video-1-0-pro-fast-251015", content: [text], generate_audio: true });
});

test("gamma-video-fast accepts less than gamma-video-2.0", () => {
  video({ model: "gamma-video-2.0", content: [text], resolution: "4k", return_last_frame: true });
  video({ model: "gamma-video-2.0", content: [{ type: "image_url", image_url: { url: "asset://a-1" } }] });
  // @ts-expect-error 4k is for 2.0
  video({ model: "gamma-video-fast", content: [text], resolution: "4k" });
  // @ts-expect-error and so is the last frame
  video({ model: "gamma-video-fast", content: [text], return_last_frame: true });
  // @ts-expect-error there is one tool
  video({ model: "gamma-video-2.0", content: [text], tools: [{ type: "function" }] });
});

test("an asset is an image, and video requests name its uri", async () => {
  asset({ model: "gamma-asset", GroupId: "g", Name: "n", AssetType: "Image", URL: new Blob() });
  // @ts-expect-error there are only images
  asset({ model: "gamma-asset", GroupId: "g", Name: "n", AssetType: "Video", URL: url });
  const { uri, temporaryURL } = await getAsset(client, "a-1");
  video({ model: "gamma-video-2.0", content: [{ type: "image_url", image_url: { url: uri } }] });
  // @ts-expect-error the lookup's address is not for requests
  video({ model: "gamma-video-2.0", content: [{ type: "image_url", image_url: { url: temporaryURL } }] });
});

test("results are narrowed by their state", async () => {
  const { images } = await generateImages(client, { model: "gamma-image-4-0-250828", prompt });
  for (const entry of images) {
    if (entry.error) expectTypeOf(entry.error.message).toBeString();
    else expectTypeOf(entry.url).toBeString();
  }
  const handle = await createVideoTask(client, { model: "beta3.0-video", input: { prompt } });
  expectTypeOf((await watchVideoTask(client, handle).result()).url).toBeString();
});
