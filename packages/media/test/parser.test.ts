import { probeMedia, uploads } from "@sluice/media";
import { mediabunny } from "@sluice/media/mediabunny";
import { createVideoTaskStore } from "@sluice/stores";
import { expect, test } from "vitest";
import { createTestClient } from "../../core/test/support/gateway.js";
import { createVideo } from "./support/media.js";
import { createUploads } from "./support/uploads.js";

const model = "beta3.0-video";
const clip = new Blob([createVideo(640, 480, 60)], { type: "video/mp4" });

function openPage(options?: Parameters<typeof uploads>[0]) {
  const proxy = createUploads(() => Response.json({ id: "t-1", created_at: 1_755_000_000 }));
  const { client } = createTestClient((request) => proxy.respond(request), { uploads: uploads(options) });
  return { client, log: proxy.log };
}

test("uploads() accepts a video without a parser, and refuses a video instead of an image", async () => {
  const { client, log } = openPage();
  await expect(probeMedia(clip)).rejects.toMatchObject({ name: "ConfigurationError" });
  const video = createVideoTaskStore(client);
  const frame = { model, input: { media: [{ type: "first_frame", url: clip }] } } as const;
  expect(await video.create(frame)).toMatchObject({
    error: { issues: [{ path: "input.media.0", rule: "media.first-frame.format" }] },
  });
  expect(log).toEqual([]);
  const reference = {
    model,
    input: { prompt: "Video 1", media: [{ type: "reference_video", url: clip }] },
  } as const;
  expect(await video.create(reference)).toMatchObject({ handle: { id: "t-1" } });
  expect(log).toEqual([`POST 0+${clip.size}`]);
});

test("uploads({ parser }) refuses a video that is too long, and uploads nothing", async () => {
  const { client, log } = openPage({ parser: mediabunny });
  const media = [{ type: "reference_video", url: clip }] as const;
  const state = await createVideoTaskStore(client).create({ model, input: { prompt: "Video 1", media } });
  expect(state).toMatchObject({
    error: { issues: [{ path: "input.media.0", rule: "media.reference-video.seconds" }, {}] },
  });
  expect(log).toEqual([]);
});
