import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { probeMedia } from "@sluice/media";
import { mediabunny } from "@sluice/media/mediabunny";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { landscapes } from "../../examples/studio/demo/media/media.ts";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";

/* The files that a browser shows: of the emulator, and the landscapes of the studio's demo. */

interface VideoTask {
  readonly ratio?: string;
  readonly duration?: number;
  readonly seed?: number;
  readonly prompt?: string;
}

describe.each([
  ["the emulator", undefined],
  ["the studio's demo", landscapes],
])("a video of %s", (_, media) => {
  test.each([
    ["16:9", 4, [856, 480]],
    ["9:16", 7, [480, 856]],
    ["1:1", 12, [480, 480]],
    ["21:9", 5, [1120, 480]],
  ] as const)(
    "at %s has the length and the size of the request",
    async (ratio, duration, [width, height]) => {
      const video = await fetchVideo(emulatorWith(media), { ratio, duration });
      expect(video.type).toBe("video/mp4");
      expect(video.size).toBeLessThan(2_000_000);
      expect(await probeMedia(video, { parser: mediabunny })).toMatchObject({
        kind: "video",
        width,
        height,
        durationSeconds: duration,
      });
    },
  );

  test("is the same for the same prompt and seed, and another one for any other", async () => {
    const emulator = emulatorWith(media);
    const readBytes = async (video: VideoTask) =>
      Buffer.from(await (await fetchVideo(emulator, video)).arrayBuffer());
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const first = await readBytes({ seed: 1 });
    vi.setSystemTime(Date.now() + 60_000);
    expect(first.equals(await readBytes({ seed: 1 }))).toBe(true);
    expect(first.equals(await readBytes({ seed: 2 }))).toBe(false);
    expect(first.equals(await readBytes({ seed: 1, prompt: "A harbour" }))).toBe(false);
  });

  test.skipIf(!findChromium())(
    "plays in Chromium to its end, and moves (skipped where there is none)",
    async () => {
      expect(await played(media)).toEqual({ duration: 4, isOther: true, size: [856, 480] });
    },
  );
});

function emulatorWith(media: typeof landscapes | undefined) {
  return createEmulator({ speed: Number.POSITIVE_INFINITY, cors: true, ...(media ? { media } : {}) });
}

type Gateway = ReturnType<typeof emulatorWith>;

async function readURL(
  { fetch }: Gateway,
  video: VideoTask,
  origin = "https://gateway.test",
): Promise<string> {
  const { prompt = "A valley at night", ratio = "16:9", duration = 4, seed = 7 } = video;
  const body = JSON.stringify({
    model: "gamma-video-2.0",
    content: [{ type: "text", text: `${prompt} [[flat]]` }],
    ratio,
    duration,
    seed,
  });
  const headers = { "content-type": "application/json" };
  const created = await fetch(`${origin}/v1/video/generations`, { method: "POST", headers, body });
  const { id } = (await created.json()) as { id: string };
  const task = await fetch(`${origin}/v1/video/generations/${id}`);
  return ((await task.json()) as { content: { video_url: string } }).content.video_url;
}

async function fetchVideo(emulator: Gateway, video: VideoTask): Promise<Blob> {
  return (await emulator.fetch(await readURL(emulator, video))).blob();
}

/** Plays a video of four seconds in a page, and compares its first image with one a second later. */
async function played(media: typeof landscapes | undefined) {
  const emulator = emulatorWith(media);
  const { url, close } = await serve(emulator, { port: 0 });
  const page = await (await getSharedBrowser()).newPage();
  try {
    const video = await readURL(emulator, {}, url);
    await page.setContent(`<video muted crossorigin src="${video}"></video>`);
    return await page.evaluate(async () => {
      const video = document.querySelector("video") as HTMLVideoElement;
      const seen = async (at: number) => {
        const sought = new Promise((resolve) => video.addEventListener("seeked", resolve, { once: true }));
        video.currentTime = at;
        await sought;
        const canvas = Object.assign(document.createElement("canvas"), { width: 856, height: 480 });
        canvas.getContext("2d")?.drawImage(video, 0, 0);
        return canvas.toDataURL();
      };
      const ended = new Promise((resolve, reject) => {
        video.addEventListener("ended", resolve);
        video.addEventListener("error", () => reject(new Error(video.error?.message)));
      });
      video.playbackRate = 4;
      await video.play();
      await ended;
      const isOther = (await seen(0)) !== (await seen(1));
      return { duration: video.duration, isOther, size: [video.videoWidth, video.videoHeight] };
    });
  } finally {
    await page.close();
    await close();
  }
}
