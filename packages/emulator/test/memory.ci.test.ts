import { expect, test } from "vitest";
import { createFastEmulator, post, readBody, send } from "./support.js";

/* Limits of an emulator's memory, each after thousands of requests or many megabytes. */

const PATH = "/v1/video/generations";
const videoRequest = { model: "beta3.0-video", input: { prompt: "A lighthouse" } };

test("An emulator and its state hold the last 2,000 video tasks", async () => {
  const state = new Map<string, unknown>();
  const emulator = createFastEmulator({ state });
  const create = async () => (await readBody<{ id: string }>(send(emulator, PATH, videoRequest))).id;
  const readStatus = async (id: string) => (await send(emulator, `${PATH}/${id}`)).status;
  const first = await create();
  for (let nth = 0; nth < 1999; nth += 1) await create();
  expect(await readStatus(first)).toBe(200);
  for (let nth = 0; nth < 50; nth += 1) await create();
  expect(await readStatus(first)).toBe(404);
  expect([...state.keys()].filter((key) => key.startsWith("videos/"))).toHaveLength(2000);
});

test("The journal drops old requests when bodies get large", async () => {
  const emulator = createFastEmulator();
  const large = "x".repeat(20_000_000);
  for (let index = 0; index < 5; index += 1) await post(emulator, `${index}${large}`);
  expect(emulator.requests).toHaveLength(3);
});
