import { expect, test } from "vitest";
import { createFastEmulator, createRequest, KEY, post, send } from "./support.js";

interface Journal {
  readonly requests: readonly Record<string, unknown>[];
}

test("the journal has the requests with their results, and not itself", async () => {
  const emulator = createFastEmulator();
  await (await post(emulator, createRequest("hi", { n: 1 }))).text();
  await (await post(emulator, createRequest("hi", { max_tokens: 0 }))).text();
  await send(emulator, "/journal");
  const { requests } = (await (await send(emulator, "/journal")).json()) as Journal;
  expect(requests).toMatchObject([
    {
      path: "/v1/chat/completions",
      status: 200,
      finished: true,
      unknownFields: ["n"],
      body: createRequest("hi"),
    },
    { path: "/v1/chat/completions", status: 400, error: expect.stringContaining("max_tokens") },
  ]);
});

test("the journal has no secret", async () => {
  const emulator = createFastEmulator();
  const canary = "canary-1234567890";
  const content = [
    { type: "text", text: `my key is sk-${canary} and Bearer ${canary}, as ${KEY}` },
    { type: "image_url", image_url: { url: `data:image/png;base64,${canary}` } },
    { type: "image_url", image_url: { url: `https://name:${canary}@a.test/b.png?token=${canary}` } },
  ];
  const init = { headers: { authorization: `Bearer ${KEY}`, cookie: canary, "x-api-key": canary } };
  await post(emulator, { ...createRequest("hi"), messages: [{ role: "user", content }] });
  await send(emulator, `/v1/video/generations/sk-${canary}`, undefined, init);
  const text = await (await send(emulator, "/journal")).text();
  expect(text).toContain("my key is");
  expect(text).not.toContain(canary);
  expect(text).not.toContain(KEY);
});

test("the journal needs the key", async () => {
  const emulator = createFastEmulator();
  expect((await emulator.fetch("https://gateway.test/journal")).status).toBe(401);
});

test("each request is reported once, when its response has ended", async () => {
  const ended: string[] = [];
  const emulator = createFastEmulator({
    faults: ({ path }) => (path === "/refused" ? "refuse" : undefined),
    onEnd: ({ path, aborted, finished }) => ended.push(`${path} ${aborted} ${finished}`),
  });
  const controller = new AbortController();
  const stalled = await post(emulator, createRequest("hi [[stall]]", { stream: true }), {
    signal: controller.signal,
  });
  expect(ended).toEqual([]);
  controller.abort();
  await expect(stalled.text()).rejects.toThrow();
  await (await send(emulator, "/nowhere")).text();
  await expect(send(emulator, "/refused")).rejects.toThrow();
  await expect(
    (await post(emulator, createRequest("hi [[drop]]", { stream: true }))).text(),
  ).rejects.toThrow();
  expect(ended).toEqual([
    "/v1/chat/completions true false",
    "/nowhere false true",
    "/refused false false",
    "/v1/chat/completions false false",
  ]);
});
