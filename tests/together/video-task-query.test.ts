// @vitest-environment happy-dom
// (where there is no window, TanStack Query takes itself for a server and asks once)
import { createClient, createVideoTask, type VideoTask, videoTaskQueryOptions } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { QueryClient, QueryObserver } from "@tanstack/query-core";
import { afterEach, describe, expect, test } from "vitest";

const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
afterEach(() => queryClient.clear());

function gateway() {
  const emulator = createEmulator({ apiKeys: ["sk-test"], speed: Number.POSITIVE_INFINITY });
  const clientOf = (apiKey: string) =>
    createClient({
      baseURL: "https://gateway.test",
      apiKey,
      dangerouslyAllowBrowser: true,
      fetch: emulator.fetch,
    });
  const client = clientOf("sk-test");
  const queries = () => emulator.requests.filter(({ method }) => method === "GET").length;
  const create = (prompt: string) => createVideoTask(client, { model: "beta3.0-video", input: { prompt } });
  return { client, clientOf, create, queries };
}

/** The results of an observer of TanStack Query, until one is as wanted. */
function observe(
  options: ReturnType<typeof videoTaskQueryOptions>,
  isWanted: (result: { data: VideoTask | undefined; error: Error | null }) => boolean,
) {
  const observer = new QueryObserver<VideoTask, Error>(queryClient, options);
  return new Promise<{ data: VideoTask | undefined; error: Error | null }>((resolve) => {
    const stop = observer.subscribe((result) => {
      if (!isWanted(result)) return;
      resolve(result);
      // what it would still ask, it asks after this
      queueMicrotask(stop);
    });
  });
}

describe("videoTaskQueryOptions in TanStack Query", () => {
  test("polls until the video is there, and not after that", async () => {
    const { client, create, queries } = gateway();
    const handle = await create("A reef at dawn [[unknown:2]]");
    const options = videoTaskQueryOptions(client, handle, { intervalMs: 1 });
    const { data } = await observe(options, (result) => result.data?.state === "succeeded");
    expect(data).toMatchObject({ state: "succeeded", url: expect.stringContaining("http") });
    expect(queries()).toBeGreaterThan(2);
    const state = queryClient.getQueryState(options.queryKey);
    expect(options.refetchInterval({ state: { data: state?.data as VideoTask, error: null } })).toBe(false);
  });

  test("continues after failures that may pass, and stops after others", async () => {
    const { client, clientOf, create } = gateway();
    const options = videoTaskQueryOptions(client, await create("A reef"), { intervalMs: () => 7 });
    const stranger = clientOf("sk-wrong");
    expect(options.refetchInterval({ state: { data: undefined, error: new Error("passing") } })).toBe(7);
    const { error } = await observe(
      videoTaskQueryOptions(stranger, "nobodys"),
      (result) => result.error !== null,
    );
    expect(options.refetchInterval({ state: { data: undefined, error } })).toBe(false);
  });
});
