import { getVideoTask } from "@sluice/core";
import {
  APICallError,
  experimental_generateVideo as generateVideo,
  experimental_getVideoStatus as getVideoStatus,
  experimental_startVideo as startVideo,
} from "ai";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { open, routes } from "./support/routes.js";

const VIDEOS = "/v1/video/generations";
const beta = "beta3.0-video";
const prompt = "A reef at dawn";

function catchFailure(run: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(run).then(
    () => undefined,
    (error) => error,
  );
}

/** A clock that the test moves. */
function createStoppedClock() {
  const clock = { at: 1_800_000_000_000, now: () => clock.at, sleep: () => Promise.resolve() };
  return clock;
}

describe.each(routes)("the video models, through the %s", (route) => {
  test.each([beta, "gamma-video-2.0"])("%s continues from stored JSON, and is paid once", async (id) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const clock = createStoppedClock();
    const { sluice, client, listPaid } = open(route, { emulator: { clock, speed: 1 } });
    const started = await startVideo({ model: sluice.videoModel(id), prompt, duration: 5 });
    const requestId = expect.stringMatching(/\S/);
    const headers = expect.objectContaining({ "x-request-id": requestId });
    expect(started).toMatchObject({
      response: { headers, timestamp: expect.any(Date) },
      providerMetadata: { sluice: { requestId } },
    });
    const stored = JSON.stringify(started.operation);

    const operation = JSON.parse(stored);
    const first = await getVideoStatus(sluice.videoModel(id), { operation });
    expect(first).toMatchObject({
      status: "pending",
      providerMetadata: { sluice: { state: expect.any(String), requestId } },
    });
    clock.at += 600_000;
    // the proxy replies to polls within a second from its cache
    vi.advanceTimersByTime(2000);
    expect(await getVideoStatus(sluice.videoModel(id), { operation })).toMatchObject({
      status: "completed",
      videos: [{ type: "url", url: expect.stringContaining("https://files.test/"), mediaType: "video/mp4" }],
    });
    // the client reads the operation as its own handle
    expect(await getVideoTask(client, operation)).toMatchObject({ state: "succeeded" });
    expect(listPaid(VIDEOS)).toHaveLength(1);
  });

  test("generateVideo waits for a video and downloads it, and it is paid once", async () => {
    const { sluice, gateway, listPaid } = open(route);
    const { video, providerMetadata } = await generateVideo({
      model: sluice.videoModel(beta),
      prompt,
      poll: { intervalMs: 1, delay: () => Promise.resolve() },
      download: async ({ url }) => {
        const response = await gateway.fetch(new Request(url));
        return { data: new Uint8Array(await response.arrayBuffer()), mediaType: "video/mp4" };
      },
    });
    expect(video.uint8Array.length).toBeGreaterThan(100);
    expect(providerMetadata.sluice).toMatchObject({ videos: [{ state: "succeeded" }] });
    expect(listPaid(VIDEOS)).toHaveLength(1);
  });
});

describe("a video", () => {
  test("A misspelled option is a warning of its start", async () => {
    const { sluice } = open("gateway", { warnings: ["video.beta.unknown-field"] });
    const providerOptions = { sluice: { watermrk: true } };
    const { warnings } = await startVideo({ model: sluice.videoModel(beta), prompt, providerOptions });
    expect(warnings).toMatchObject([{ type: "other", message: expect.stringContaining("`watermark`") }]);
  });

  test("Settings become the fields of each model", async () => {
    const { sluice, gateway } = open();
    const settings = {
      prompt: { text: prompt, image: "https://images.example/first.png" },
      frameImages: [{ frameType: "last_frame" as const, image: "https://images.example/last.png" }],
      resolution: "1280x720" as const,
      aspectRatio: "16:9" as const,
      duration: 5,
      generateAudio: false,
      fps: 24,
      providerOptions: { sluice: { watermark: true } },
    };
    const { warnings } = await startVideo({ ...settings, model: sluice.videoModel(beta), seed: 3 });
    expect(warnings).toMatchObject([{ type: "unsupported", feature: "fps" }]);
    await startVideo({ ...settings, model: sluice.videoModel("gamma-video-2.0") });
    expect(gateway.requests.map(({ body }) => body)).toEqual([
      {
        model: beta,
        input: {
          prompt,
          media: [
            { type: "first_frame", url: "https://images.example/first.png" },
            { type: "last_frame", url: "https://images.example/last.png" },
          ],
        },
        parameters: {
          resolution: "720P",
          duration: 5,
          ratio: "16:9",
          seed: 3,
          audio: false,
          watermark: true,
        },
      },
      {
        model: "gamma-video-2.0",
        resolution: "720p",
        duration: 5,
        ratio: "16:9",
        generate_audio: false,
        watermark: true,
        content: [
          { type: "text", text: prompt },
          { type: "image_url", image_url: { url: "https://images.example/first.png" }, role: "first_frame" },
          { type: "image_url", image_url: { url: "https://images.example/last.png" }, role: "last_frame" },
        ],
      },
    ]);
  });

  test("References are sent by their kind", async () => {
    const { sluice, gateway } = open();
    const inputReferences = [
      "https://images.example/reef.png",
      { data: "https://images.example/reef.mp4", mediaType: "video/mp4" },
    ];
    await startVideo({ model: sluice.videoModel(beta), prompt, inputReferences });
    await startVideo({ model: sluice.videoModel("gamma-video-2.0"), prompt, inputReferences });
    expect(gateway.requests.map(({ body }) => body)).toMatchObject([
      { input: { media: [{ type: "reference_image" }, { type: "reference_video" }] } },
      { content: [{}, { type: "image_url", role: "reference_image" }, { type: "video_url" }] },
    ]);
  });

  test.each([
    ["gamma-video-1-0-pro-fast-251015", { generateAudio: true }, "generate_audio"],
    [beta, { resolution: "640x333" as const }, "parameters.resolution"],
    [beta, { duration: 31 }, "parameters.duration"],
  ])("%s with %o is an error, and nothing is sent", async (id, settings, path) => {
    const { sluice, gateway } = open();
    const error = await catchFailure(startVideo({ model: sluice.videoModel(id), prompt, ...settings }));
    expect(error).toMatchObject({ isRetryable: false, data: { billing: "none", issues: [{ path }] } });
    expect(gateway.requests).toEqual([]);
  });

  test("A request to a model of silent videos omits the field for audio", async () => {
    const { sluice, gateway } = open();
    await startVideo({
      model: sluice.videoModel("gamma-video-1-0-pro-fast-251015"),
      prompt,
      generateAudio: false,
    });
    expect(gateway.requests[0]?.body).not.toHaveProperty("generate_audio");
  });

  test("A lost receipt is an error, and the video is not started again", async () => {
    const { sluice, listPaid } = open();
    const error = await catchFailure(
      startVideo({ model: sluice.videoModel(beta), prompt: `${prompt} [[drop]]` }),
    );
    expect(error).toSatisfy(APICallError.isInstance);
    expect(error).toMatchObject({ isRetryable: false, data: { billing: "maybe" } });
    expect(listPaid(VIDEOS)).toHaveLength(1);
  });

  test("A failed video has the status error, with the gateway's reason", async () => {
    const clock = createStoppedClock();
    const { sluice } = open("gateway", { emulator: { clock, speed: 1 } });
    const { operation } = await startVideo({ model: sluice.videoModel(beta), prompt: `${prompt} [[fail]]` });
    clock.at += 600_000;
    expect(await getVideoStatus(sluice.videoModel(beta), { operation })).toMatchObject({
      status: "error",
      error: expect.stringMatching(/^the video task failed: \w/),
    });
  });

  test("A query that fails may be repeated, and its error has the operation", async () => {
    const { gateway } = open();
    const { operation } = await startVideo({ model: open().sluice.videoModel(beta), prompt });
    const { sluice } = open("gateway", {
      client: { fetch: async () => Response.json({ error: { message: "down" } }, { status: 503 }) },
    });
    const run = getVideoStatus(sluice.videoModel(beta), { operation, maxRetries: 0 });
    expect(await catchFailure(run)).toMatchObject({
      statusCode: 503,
      isRetryable: true,
      data: { operation },
    });
    expect(gateway.requests).toEqual([]);
  });

  test("An invalid operation is an error, and nothing is sent", async () => {
    const { sluice, gateway } = open();
    for (const operation of [null, "task", {}, [], { id: "../../secrets" }])
      expect(await catchFailure(getVideoStatus(sluice.videoModel(beta), { operation }))).toBeInstanceOf(
        Error,
      );
    expect(gateway.requests.filter(({ path }) => !path.startsWith(VIDEOS))).toEqual([]);
  });
});
