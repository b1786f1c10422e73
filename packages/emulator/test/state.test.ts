import { createEmulator } from "@sluice/emulator";
import { beforeEach, expect, test } from "vitest";

/* An emulator whose process ends at any time, with a state that survives. */

let state: Map<string, unknown>;
let now: number;
beforeEach(() => {
  state = new Map();
  now = Date.now();
});

/** Starts an emulator with the state of the previous emulator, copied as plain data. */
function restart() {
  // `structuredClone` throws for values that can't be stored
  state = structuredClone(state);
  return createEmulator({ state, clock: { now: () => now, sleep: async () => {} } });
}

async function readResponse(emulator: ReturnType<typeof restart>, path: string, body?: unknown) {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const headers = { "content-type": "application/json" };
  return await (await emulator.fetch(`https://gateway.test${path}`, { ...init, headers })).json();
}

const videoRequest = { model: "beta3.0-video", input: { prompt: "A lighthouse" } };
const videoPath = "/v1/video/generations";

test("A video task continues in the next emulator, with its file", async () => {
  const { task_id: id } = await readResponse(restart(), videoPath, videoRequest);
  now += 10 * 60_000;
  const later = restart();
  const response = JSON.stringify(await readResponse(later, `${videoPath}/${id}`));
  const [url = ""] = /https:[^"]+\.mp4[^"]*/.exec(response) ?? [];
  const again = restart();
  expect((await again.fetch(url, { method: "HEAD" })).status).toBe(200);
});

test("The next emulator never repeats an id", async () => {
  const ids = [];
  for (let turn = 0; turn < 3; turn += 1)
    ids.push((await readResponse(restart(), videoPath, videoRequest)).task_id);
  expect(new Set(ids).size).toBe(3);
});

test("An image and an asset survive in the next emulator", async () => {
  const first = restart();
  const image = { model: "gamma-image-4-0-250828", prompt: "A lighthouse" };
  const { data } = await readResponse(first, "/v1/images/generations", image);
  const { Id } = await readResponse(first, "/gamma/asset/CreateAsset", {
    model: "gamma-asset",
    Name: "Hero",
    AssetType: "Image",
    URL: "https://example.com/hero.png",
    GroupId: "studio",
  });
  const later = restart();
  expect((await later.fetch(data[0].url, { method: "HEAD" })).status).toBe(200);
  now += 60_000;
  expect(await readResponse(later, "/gamma/asset/GetAsset", { Id })).toMatchObject({ Status: "Active" });
});

test("A reset leaves no entry in the state", async () => {
  const emulator = restart();
  await readResponse(emulator, videoPath, videoRequest);
  expect(state.size).toBeGreaterThan(0);
  emulator.reset();
  expect([...state]).toEqual([]);
});
