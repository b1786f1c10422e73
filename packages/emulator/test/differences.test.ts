import { createEmulator } from "@sluice/emulator";
import { expect, test } from "vitest";
import { createFastEmulator, createRequest, post, readFrames } from "./support.js";

/* `packages/mcp/test/doctor.test.ts` tries every name of the option. */

test("breaks several assumptions at once, and no others", async () => {
  const emulator = createFastEmulator({ differs: ["stream-done", "stream-id"] });
  const response = await post(emulator, createRequest("Hello", { stream: true }));
  const { frames } = await readFrames(response);
  const chunks = frames.map((frame) => JSON.parse(frame) as { id: string; model: string });
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(chunks.length);
  expect(new Set(chunks.map(({ model }) => model)).size).toBe(1);
  expect(response.headers.get("x-request-id")).toMatch(/^req_/);
});

test("a new task is unknown to its first query only, also after a reset", async () => {
  const emulator = createFastEmulator({ apiKeys: ["sk-test"], differs: ["task-known"] });
  const query = async () => {
    const headers = { ...emulator.clientOptions.headers, "content-type": "application/json" };
    const created = await emulator.fetch("https://gateway.test/v1/video/generations", {
      method: "POST",
      headers,
      body: JSON.stringify({ model: "beta3.0-video", input: { prompt: "A reef" } }),
    });
    const { id } = (await created.json()) as { id: string };
    const request = () => emulator.fetch(`https://gateway.test/v1/video/generations/${id}`, { headers });
    return [(await request()).status, (await request()).status];
  };
  expect(await query()).toEqual([404, 200]);
  emulator.reset();
  expect(await query()).toEqual([404, 200]);
});

test("an unknown name is an error that lists the names", () => {
  expect(() => createEmulator({ differs: ["stream-dome" as "stream-done"] })).toThrow(
    /differs: there is no "stream-dome"; give some of no-redirect, /,
  );
});
