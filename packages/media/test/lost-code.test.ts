import { createClient } from "@sluice/core";
import { memoryStorage } from "@sluice/stores";
import { afterEach, expect, test, vi } from "vitest";

/* A page loads some code on demand, which fails if the network is lost, or after a new release of the app. */

const STORED_UPLOADS = "../src/uploads/stored-uploads.js";

afterEach(() => vi.doUnmock(STORED_UPLOADS));

test("a file is uploaded even if the code that stores uploads can't be loaded, and nothing is stored", async () => {
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
  const storage = memoryStorage();
  const write = vi.spyOn(storage, "write");
  const file = new File(["abc"], "a.png", { type: "image/png" });
  expect(await uploadMedia(client, file, { storage })).toMatchObject({ id: "u-1" });
  expect(write).not.toHaveBeenCalled();
  expect(events).toContain("storage-error");
});
