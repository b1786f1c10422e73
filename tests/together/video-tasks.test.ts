import { type ClientOptions, createClient, type VideoRequest } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { uploads } from "@sluice/media";
import {
  createVideoTaskStore,
  type Presence,
  type VideoTaskState,
  type VideoTaskStoreOptions,
} from "@sluice/stores";
import { afterEach, describe, expect, test, vi } from "vitest";
import { stoppedClock } from "../../packages/core/test/support/gateway.js";

const present: Presence = { absence: undefined, subscribe: () => () => {} };
const leaves: (() => void)[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const leave of leaves.splice(0)) leave();
});

let gateways = 0;

/** Opens a store and a gateway. The test moves the clock of both. */
function createVideo(
  prompt: string,
  model: "beta3.0-video" | "gamma-video-2.0" = "beta3.0-video",
  { uploads, ...options }: VideoTaskStoreOptions & Pick<ClientOptions, "uploads"> = {},
) {
  const clock = stoppedClock();
  const emulator = createEmulator({ apiKeys: ["sk-test"], clock });
  gateways += 1;
  const client = createClient({
    baseURL: `https://gateway-${gateways}.test`,
    apiKey: "sk-test",
    fetch: emulator.fetch,
    clock,
    random: () => 0.5,
    retry: { limit: 0 },
    uploads,
  });
  const video = createVideoTaskStore(client, { presence: present, ...options });
  const states: VideoTaskState[] = [];
  leaves.push(video.subscribe(() => states.push(video.getSnapshot())));
  const request = (
    model === "beta3.0-video"
      ? { model, input: { prompt } }
      : { model, content: [{ type: "text", text: prompt }] }
  ) as VideoRequest;
  const counts = () => ({
    creates: emulator.requests.filter(({ method }) => method === "POST").length,
    queries: emulator.requests.filter(({ method }) => method === "GET").length,
  });

  /** Lets time pass until the task is over, up to a number of minutes. Returns the minutes that passed. */
  async function untilOver(max = 40): Promise<number> {
    for (let minutes = 0; minutes < max; minutes += 0.25) {
      if (["success", "error"].includes(video.getSnapshot().status)) return minutes;
      await clock.advance(15_000);
    }
    return max;
  }
  return { video, request, states, counts, clock, untilOver };
}

describe("a video task on the emulator", () => {
  test.each([
    ["", "beta3.0-video"],
    ["", "gamma-video-2.0"],
    ["[[flat]]", "gamma-video-2.0"],
    ["[[no-url:2]]", "beta3.0-video"],
    ["[[unknown]]", "beta3.0-video"],
    ["[[late]]", "beta3.0-video"],
    ["[[busy]]", "beta3.0-video"],
  ] as const)(
    "%s %s: created once, polled at most four times a minute, and a success",
    async (fault, model) => {
      const { video, request, states, counts, untilOver } = createVideo(`A reef at dawn ${fault}`, model);
      await video.create(request);
      const minutes = await untilOver();
      expect(video.getSnapshot()).toMatchObject({
        status: "success",
        progress: 1,
        data: { state: "succeeded" },
      });
      expect(video.getSnapshot().data?.url).toMatch(/^http/);
      expect(counts().creates).toBe(1);
      expect(counts().queries).toBeLessThanOrEqual(minutes * 4 + 1);
      const progress = states.map((state) => state.progress ?? 0);
      expect(progress).toEqual([...progress].sort((a, b) => a - b));
      expect(states.every(({ status }, at) => status === "pending" || at > 0)).toBe(true);
    },
  );

  test.each([
    ["[[fail]]", { name: "TaskError", reason: "failed" }],
    ["[[no-url]]", { name: "TaskError", reason: "no-result" }],
  ])("%s: an error with the reason, and the task is stored", async (fault, error) => {
    const { video, request, counts, untilOver } = createVideo(`A reef at dawn ${fault}`);
    await video.create(request);
    await untilOver();
    expect(video.getSnapshot()).toMatchObject({ status: "error", error, data: undefined });
    expect(video.getSnapshot().task).toBeDefined();
    expect(counts().creates).toBe(1);
  });

  test("has expired if the gateway no longer has it after 24 hours", async () => {
    const { video, request, clock } = createVideo("A reef at dawn");
    await video.create(request);
    expect(video.getSnapshot().handle?.queryableUntil).toBeDefined();
    video.detach();
    const day = 25 * 3_600_000;
    await clock.advance(day);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + day });
    video.refetch();
    await clock.advance(60_000);
    expect(video.getSnapshot()).toMatchObject({
      status: "error",
      error: { name: "TaskError", reason: "expired" },
    });
    expect(video.getSnapshot().handle?.id).toBeDefined();
  });

  test.each(["[[429]]", "[[500]]"])("%s: refused or uncertain, and not polled", async (fault) => {
    const { video, request, counts, clock } = createVideo(`A reef at dawn ${fault}`);
    const state = await video.create(request);
    expect(state).toMatchObject({
      status: "error",
      handle: undefined,
      error: { status: Number(fault.slice(2, 5)) },
    });
    await clock.advance(600_000);
    expect(counts()).toEqual({ creates: 1, queries: 0 });
  });

  test("is refused for media beyond a limit before the gateway gets anything", async () => {
    const { video, counts } = createVideo("", "beta3.0-video", { uploads: uploads() });
    const gif = `data:image/png;base64,${btoa("GIF89a\x40\x01\xf0\x00")}`;
    const media = [{ type: "first_frame", url: gif }] as const;
    expect(await video.create({ model: "beta3.0-video", input: { media } })).toMatchObject({
      status: "error",
      error: {
        name: "ValidationError",
        issues: [{ path: "input.media.0", rule: "media.first-frame.format" }],
      },
    });
    expect(counts()).toEqual({ creates: 0, queries: 0 });
  });
});
