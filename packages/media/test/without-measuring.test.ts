import { createVideoTaskStore } from "@sluice/stores";
import { expect, test, vi } from "vitest";
import { clientOf } from "../../core/test/support/gateway.js";
import { film } from "./support/media.js";
import { openUploads } from "./support/uploads.js";

const model = "beta3.0-video";
const clip = new Blob([film(640, 480, 60)], { type: "video/mp4" });

/** A page whose app has not called `measureWith`. */
async function pageWithoutMeasuring() {
  vi.resetModules();
  const { probeMedia, uploads } = await import("@sluice/media");
  const proxy = openUploads(() => Response.json({ id: "t-1", created_at: 1_755_000_000 }));
  const { client } = clientOf((request) => proxy.answer(request), { uploads: uploads() });
  return { client, log: proxy.log, probeMedia };
}

test("uploads() takes a video that it can't measure, and refuses one in the place of an image", async () => {
  const { client, log, probeMedia } = await pageWithoutMeasuring();
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
