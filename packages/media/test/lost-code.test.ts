import { createClient } from "@sluice/core";
import { memoryStorage } from "@sluice/stores";
import { afterEach, expect, test, vi } from "vitest";

/* A page loads some code on demand. If the network is gone by then, the page must still report the truth. */

const STORED_UPLOADS = "../src/uploads/stored-uploads.js";

afterEach(() => vi.doUnmock(STORED_UPLOADS));

test("A file is uploaded without the chunk for storages, and its id is not stored", async () => {
  vi.resetModules();
  vi.doMock(STORED_UPLOADS, () => {
    throw new TypeError("Failed to fetch dynamically imported module");
  });
  const events: string[] = [];
  const client = createClient({
    baseURL: "https://gateway.test",
    onEvent: ({ type }) => events.push(type),
    fetch: async () => Response.json({ id: "u-1", offset: 3, url: "https://app.test/u-1", expiresAt: 9e15 }),
  });
  const { uploadMedia } = await import("@sluice/media");
  const file = new File(["abc"], "a.png", { type: "image/png" });
  expect(await uploadMedia(client, file, { storage: memoryStorage() })).toMatchObject({ id: "u-1" });
  expect(events).toContain("storage-error");
});
