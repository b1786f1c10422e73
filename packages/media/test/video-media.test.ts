import type { VideoRequest } from "@sluice/core";
import { checkRequestMedia, toDataURI, uploads } from "@sluice/media";
import { mediabunny } from "@sluice/media/mediabunny";
import { createVideoTaskStore, listVideoTasks, memoryStorage, type Presence } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createTestClient } from "../../core/test/support/gateway.js";
import { concatBytes, createJPEG, createPNG, createVideo, createWAV } from "./support/media.js";

const present: Presence = { absence: undefined, subscribe: () => () => {} };
const model = "beta3.0-video";
const small = toDataURI(new Blob([createJPEG(100, 480)]));
const good = toDataURI(new Blob([createJPEG(640, 480)]));
const see = async (request: object, options = {}) =>
  (await checkRequestMedia(request as VideoRequest, { parser: mediabunny, ...options })).map(
    ({ path, rule }) => `${path} ${rule}`,
  );

describe("the media of a beta video request", () => {
  test("are checked if they are in the request, each at its path", async () => {
    const media = [
      { type: "reference_image", url: "https://files.test/reef.png" },
      { type: "reference_image", url: await small },
      { type: "reference_image", url: await good },
      {
        type: "reference_image",
        url: await toDataURI(new Blob([await createPNG(640, 480, { colourType: 6 })])),
      },
      { type: "reference_image", url: (await small).replace(";base64", ";name=reef;base64") },
      { type: "reference_image", url: `data:image/jpeg;base64,${btoa("text")}` },
      { type: "link", url: "https://reef.test" },
    ];
    expect(await see({ model, input: { media } })).toEqual([
      "input.media.1 media.reference-image.side",
      "input.media.3 media.reference-image.alpha",
      "input.media.4 media.reference-image.side",
      "input.media.5 media.reference-image.format",
    ]);
  });

  test("are checked as frames, too, and a request without media passes", async () => {
    const media = [
      { type: "first_frame", url: await good },
      { type: "last_frame", url: await small },
    ];
    expect(await see({ model: "beta3.0-video-prime", input: { media } })).toEqual([
      "input.media.1 media.last-frame.side",
    ]);
    expect(await see({ model, input: { prompt: "A reef" } })).toEqual([]);
  });

  test("are checked if they are files, but not at a URL", async () => {
    const clip = new Blob([createVideo(640, 480, 16)]);
    const image = { type: "reference_image", url: await good };
    const media = (url: unknown) => [image, { type: "reference_video", url }];
    const parameters = { duration: 5 };
    expect(await see({ model, input: { media: media("https://files.test/clip.mp4") }, parameters })).toEqual(
      [],
    );
    expect(await see({ model, input: { media: media(clip) }, parameters })).toEqual([
      "input.media.1 media.reference-video.seconds",
    ]);
  });

  test("have a limit for their total seconds, alone and with the result", async () => {
    const clip = { type: "reference_video", url: new Blob([createVideo(640, 480, 8)]) };
    const song = { type: "reference_audio", url: new Blob([createWAV(9)]) };
    const media = [clip, clip, song, song];
    const together = [
      "input.media media.reference-video.seconds-in-all",
      "input.media media.reference-audio.seconds-in-all",
    ];
    expect(await see({ model, input: { media } })).toEqual(together);
    expect(await see({ model, input: { media }, parameters: { duration: 15 } })).toEqual([
      ...together,
      "parameters.duration media.input-and-output-seconds",
    ]);
    const one = { model, input: { media: [clip] } };
    expect(await see({ ...one, parameters: { duration: 22 } })).toEqual([]);
    expect(await see({ ...one, parameters: { duration: 23 } })).toHaveLength(1);
    // the default duration is five seconds
    const long = { type: "reference_video", url: new Blob([createVideo(640, 480, 26)]) };
    expect(await see({ model, input: { media: [long] } })).toContain(
      "parameters.duration media.input-and-output-seconds",
    );
  });
});

describe("the media of a gamma video request", () => {
  const text = { type: "text", text: "A reef" };
  const createImage = (url: unknown) => ({ type: "image_url", image_url: { url } });

  test("must be complete and of their declared type; the spec has no limits", async () => {
    const whole = createJPEG(100, 4000);
    const content = [
      text,
      createImage(await toDataURI(new Blob([whole]))),
      createImage(await toDataURI(new Blob([await createPNG(100, 100, { colourType: 6 })]))),
      createImage(await toDataURI(new Blob([concatBytes("GIF89a")]))),
      createImage(await toDataURI(new Blob([createVideo(640, 480, 2)]), { type: "image/png" })),
      createImage(`data:image/png;base64,${btoa("text")}`),
      createImage(`data:image/tiff;base64,${btoa("II*\0some")}`),
      createImage("asset://a-1"),
      createImage("https://files.test/reef.png"),
    ];
    expect(await see({ model: "gamma-video-2.0", content })).toEqual([
      "content.3 media.image.unreadable",
      "content.4 media.image.format",
      "content.5 media.image.unreadable",
    ]);
  });

  test("are checked if they are files", async () => {
    const createContent = (file: Blob) => [
      text,
      { type: "video_url", video_url: { url: file } },
      { type: "audio_url", audio_url: { url: file } },
      createImage("asset://a-1"),
    ];
    const song = createContent(new Blob([createWAV(2)]));
    expect(await see({ model: "gamma-video-fast", content: song })).toEqual(["content.1 media.video.format"]);
    const unknown = createContent(new Blob(["?"]));
    expect(await see({ model: "gamma-video-fast", content: unknown })).toEqual([]);
  });
});

test("the media of an unknown model, and invalid Base64, are not checked", async () => {
  const url = await small;
  const media = [{ type: "first_frame", url }];
  expect(await see({ model: "beta4.0-video", input: { media } })).toEqual([]);
  expect(await see({ input: { media } })).toEqual([]);
  const odd = ["data:image/png,text", "data:image/png;base64,?", undefined, "toString"];
  const items = odd.map((url) => ({ type: "first_frame", url }));
  expect(await see({ model, input: { media: [...items, { type: "toString", url }] } })).toEqual([]);
});

test("the check of media ends with its signal", async () => {
  const media = [{ type: "first_frame", url: await good }];
  const signal = AbortSignal.abort(new DOMException("over", "AbortError"));
  await expect(see({ model, input: { media } }, { signal })).rejects.toThrow("over");
  const content = [{ type: "image_url", image_url: { url: await good } }];
  await expect(see({ model: "gamma-video-2.0", content }, { signal })).rejects.toThrow("over");
});

test("uploads() refuses a request before it is stored or sent", async () => {
  const storage = memoryStorage();
  const { client, requests } = createTestClient(
    () => Response.json({ id: "t-1", created_at: 1_755_000_000 }),
    {
      uploads: uploads(),
    },
  );
  const video = createVideoTaskStore(client, { storage, presence: present });
  const request = { model, input: { media: [{ type: "first_frame", url: await small }] } } as const;
  expect(await video.create(request)).toMatchObject({
    status: "error",
    error: { name: "ValidationError", issues: [{ path: "input.media.0", rule: "media.first-frame.side" }] },
  });
  expect([await listVideoTasks(client, { storage }), requests.length]).toEqual([[], 0]);
  expect(await video.create(request, { checks: false })).toMatchObject({ handle: { id: "t-1" } });
  video.reset();
  const fitting = { model, input: { media: [{ type: "first_frame", url: await good }] } } as const;
  expect(await video.create(fitting)).toMatchObject({ handle: { id: "t-1" } });
});
