import type { MediaUploader } from "@sluice/core";
import { createImageStore, createVideoTaskStore } from "@sluice/stores";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTestClient, stoppedClock } from "../../core/test/support/gateway.js";

const file = (size: number) => new Blob([new Uint8Array(size)]);
const createVideo = (...media: readonly Blob[]) =>
  ({
    model: "beta3.0-video",
    input: { prompt: "A reef", media: media.map((url) => ({ type: "reference_image" as const, url })) },
  }) as const;

/** Opens a page whose gateway accepts every request. */
function openPage(uploads?: MediaUploader) {
  const { client, requests } = createTestClient(
    (request) =>
      request.url.includes("/images/")
        ? Response.json({ created: 1, data: [{ url: "https://cdn.test/1.png" }] })
        : Response.json({ id: "t-1", created_at: 1_755_000_000 }),
    { uploads, clock: stoppedClock() },
  );
  return { client, requests };
}

describe("a file in a request without the option `uploads`", () => {
  const refusal = {
    name: "ConfigurationError",
    billing: "none",
    message: expect.stringContaining("createClient({ uploads: uploads() })"),
  };

  test("is refused by a video task store, and nothing is sent", async () => {
    const { client, requests } = openPage();
    const state = await createVideoTaskStore(client).create(createVideo(file(3)));
    expect(state).toMatchObject({ status: "error", error: refusal });
    expect(requests).toHaveLength(0);
  });

  test("is refused by an image store, and nothing is sent", async () => {
    const { client, requests } = openPage();
    const images = createImageStore(client, { model: "gamma-image-5-0-260128" });
    const state = await images.generate({ prompt: "A reef", image: [file(3)] });
    expect(state).toMatchObject({ status: "error", error: refusal });
    expect(requests).toHaveLength(0);
  });
});

describe("an uploader of an app", () => {
  test("gets each file once, and the URLs are sent", async () => {
    const shares: unknown[] = [];
    const uploaded: Blob[] = [];
    const { client, requests } = openPage({
      async upload(given, blob, { onProgress } = {}) {
        expect(given).toBe(client);
        uploaded.push(blob);
        onProgress?.({ loadedBytes: blob.size });
        return { url: `https://bucket.test/${uploaded.length}` };
      },
    });
    const [one, other] = [file(1), file(3)];
    const video = createVideoTaskStore(client);
    const leave = video.subscribe(() => shares.push(video.getSnapshot().progress));
    onTestFinished(leave);
    expect(await video.create(createVideo(one, other, one))).toMatchObject({ handle: { id: "t-1" } });
    expect(uploaded).toEqual([one, other]);
    expect(shares).toEqual(expect.arrayContaining([0.25, 1, undefined]));
    expect(await requests[0]?.json()).toMatchObject({
      input: { media: ["1", "2", "1"].map((name) => ({ url: `https://bucket.test/${name}` })) },
    });
  });

  test("can reject a file with an error, and nothing is sent", async () => {
    const { client, requests } = openPage({ upload: () => Promise.reject(new RangeError("bucket is full")) });
    const state = await createVideoTaskStore(client).create(createVideo(file(3)));
    expect(state).toMatchObject({ status: "error", error: { message: "bucket is full" } });
    expect(requests).toHaveLength(0);
  });
});
