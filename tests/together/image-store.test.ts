import { createClient } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { createImageStore } from "@sluice/stores";
import { expect, test } from "vitest";

const model = "gamma-image-5-0-260128";

/** Creates a gateway for one test, and a store of its images. */
function painter({ speed = Number.POSITIVE_INFINITY, retries = 1 } = {}) {
  const emulator = createEmulator({ apiKeys: ["sk-test"], speed });
  const client = createClient({
    // the error of a request that is refused would be printed
    onEvent: () => {},
    baseURL: "https://gateway.test",
    fetch: emulator.fetch,
    apiKey: "sk-test",
    retry: { limit: retries },
  });
  const store = createImageStore(client, { model, params: { size: "2048x2048" } });
  const statuses = () => emulator.requests.map(({ status }) => status);
  return { emulator, store, statuses };
}

test("a sequence comes in order, with the refused image at its position", async () => {
  const { store } = painter();
  await store.generate({
    prompt: "Three pictures of a reef [[partial]]",
    sequential_image_generation: "auto",
    sequential_image_generation_options: { max_images: 3 },
  });
  const { status, data, failedCount } = store.getSnapshot();
  expect([status, failedCount, data?.usage?.generated_images]).toEqual(["success", 1, 2]);
  expect(data?.images).toMatchObject([
    { url: expect.stringContaining("https://"), size: "2048x2048" },
    { error: { code: "content_filter" } },
    { url: expect.stringContaining("https://"), size: "2048x2048" },
  ]);
});

test("a double click creates once, and returns the first images", async () => {
  const { emulator, store } = painter();
  const [first, second] = await Promise.all([
    store.generate({ prompt: "A reef" }),
    store.generate({ prompt: "A reef" }),
  ]);
  expect([first.status, second.status, second.error?.billing]).toEqual(["success", "error", "none"]);
  expect(store.getSnapshot().data).toBe(first.data);
  expect(emulator.requests).toHaveLength(1);
});

test.each([
  ["[[429:1]]", 1, [429, 200], { status: "success", error: undefined }],
  ["[[429]]", 0, [429], { status: "error", error: { status: 429, billing: "none" } }],
  ["[[500]]", 1, [500], { status: "error", error: { status: 500, billing: "maybe" } }],
])(
  "%s with %i retries gets %j, and is never sent again by itself",
  async (fault, retries, expected, state) => {
    const { store, statuses } = painter({ retries });
    await store.generate({ prompt: `A reef ${fault}` });
    expect(store.getSnapshot()).toMatchObject(state);
    expect(statuses()).toEqual(expected);
  },
);

test("stop ends the request at the gateway, and the store can be used again", async () => {
  const { emulator, store } = painter({ speed: 1 });
  const stopped = store.generate({ prompt: "A reef [[slow]]" });
  await expect.poll(() => emulator.requests.length).toBe(1);
  store.stop();
  expect(await stopped).toMatchObject({ status: "error", error: { billing: "maybe" } });
  await expect.poll(() => emulator.requests[0]?.aborted).toBe(true);
  expect(await store.generate({ prompt: "A reef", seed: 0.5 })).toMatchObject({ error: { billing: "none" } });
  expect(store.getSnapshot().error).toMatchObject({ name: "ValidationError", issues: [{ path: "seed" }] });
});
