import { expect, test } from "vitest";
import {
  createFastEmulator,
  createLeapingClock,
  createRequest,
  joinText,
  KEY,
  listDeltas,
  readBody,
  readBytes,
  readChunks,
  readPNG,
  send,
} from "./support.js";

/** Features that depend on the platform: streams, compression, forms, lazy modules, signals. */

test("streams a chat", async () => {
  const chunks = await readChunks(createFastEmulator(), createRequest("Tell me about tea"));
  expect(joinText(listDeltas(chunks))).not.toBe("");
});

test("an abort reaches a response in flight", async () => {
  const controller = new AbortController();
  const response = send(
    createFastEmulator(),
    "/v1/images/generations",
    { model: "gamma-image-4-0-250828", prompt: "[[stall]]" },
    { signal: controller.signal },
  );
  controller.abort();
  await expect(response).rejects.toMatchObject({ name: "AbortError" });
});

test("draws the largest image", async () => {
  const emulator = createFastEmulator();
  const request = { model: "gamma-image-4-0-250828", prompt: "A fox 🦊", size: "6240x2656" };
  const { data } = await readBody<{ data: { url: string }[] }>(
    send(emulator, "/v1/images/generations", request),
  );
  const response = await emulator.fetch(data[0]?.url ?? "");
  const { width, height, rows } = await readPNG(await readBytes(response));
  expect([width, height, rows.length]).toEqual([6240, 2656, 2656 * (3 * 6240 + 1)]);
});

test("makes a video task and serves parts of its file", async () => {
  const clock = createLeapingClock();
  const emulator = createFastEmulator({ clock, speed: 1 });
  const request = { model: "beta3.0-video", input: { prompt: "A reef" } };
  const { id } = await readBody<{ id: string }>(send(emulator, "/v1/video/generations", request));
  clock.pass(120_000);
  const { data } = await readBody<{ data: { status: string; result_url: string } }>(
    send(emulator, `/v1/video/generations/${id}`),
  );
  expect(data.status).toBe("SUCCESS");
  const part = await emulator.fetch(data.result_url, { headers: { range: "bytes=4-7" } });
  expect(part.status).toBe(206);
  expect(String.fromCharCode(...(await readBytes(part)))).toBe("ftyp");
  const head = await emulator.fetch(data.result_url, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("registers an asset from a form", async () => {
  const emulator = createFastEmulator();
  const form = new FormData();
  const fields = { model: "gamma-asset", GroupId: "group-1", Name: "hero", AssetType: "Image" };
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append("URL", new Blob(["pixels"], { type: "image/png" }), "hero.png");
  const init = { method: "POST", headers: { authorization: `Bearer ${KEY}` }, body: form };
  const { Id } = await readBody<{ Id: string }>(send(emulator, "/gamma/asset/CreateAsset", undefined, init));
  expect(await readBody(send(emulator, "/gamma/asset/GetAsset", { Id }))).toMatchObject({ Status: "Active" });
});

test("creates a task of the second video vendor", async () => {
  const response = send(createFastEmulator(), "/epsilon/v1/videos/text2video", { prompt: "A reef" });
  expect(await readBody(response)).toMatchObject({ code: 0, data: { task_id: expect.any(String) } });
});
