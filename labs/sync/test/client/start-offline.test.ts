import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient } from "@sluice/core";
import { memoryStorage } from "@sluice/stores";
import type { RemoteStorage } from "@sluice/sync";
import { build } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stoppedClock } from "../../../../packages/core/test/support/gateway.js";
import { aliases } from "../../../../scripts/sources.js";
import { message } from "./support/device.js";
import { createSyncServer } from "./support/sync-server.js";

// in `node_modules`, so that the platform loads the files, and not the test runner
const folder = mkdtempSync(join(import.meta.dirname, "../../node_modules/.page-"));

/** Builds the client as an app does: one file for its start, and one with the code of the sync. */
beforeAll(() =>
  build({
    configFile: false,
    logLevel: "error",
    resolve: { alias: [...aliases] },
    ssr: { noExternal: true },
    build: {
      ssr: join(import.meta.dirname, "../../src/client/index.ts"),
      outDir: folder,
      rolldownOptions: { output: { entryFileNames: "page.mjs", chunkFileNames: "[name].mjs" } },
    },
  }),
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("A page that starts without a network shows its copy and its unsent changes, and syncs when the network is back", async () => {
  const [stored, gone] = [join(folder, "sync.mjs"), join(folder, "gone")];
  renameSync(stored, gone);
  const { remoteStorage } = (await import(
    /* @vite-ignore */ pathToFileURL(join(folder, "page.mjs")).href
  )) as typeof import("@sluice/sync");
  const server = createSyncServer();
  const clock = stoppedClock();
  const client = createClient({
    ...{ baseURL: "https://proxy.example", user: "ada", clock, random: () => 1 },
    fetch: server.connect(() => "ada"),
  });
  const storage = remoteStorage(client, { local: memoryStorage(), name: "starts-offline" });
  const chat = '"ada"/chat/trip';
  await storage.write(chat, new Map([["a", message("a")]]));
  await waitForStatus(storage, "error");
  expect(storage.status.getSnapshot()).toMatchObject({ pending: 1, error: { code: "connection_failed" } });
  expect([...(await storage.read(chat)).keys()]).toEqual(["a"]);
  renameSync(gone, stored);
  await clock.advanceUntil(waitForStatus(storage, "saved"), 1000);
  expect([...server.list("ada", "chat/trip").keys()]).toEqual(["a"]);
  await storage.clear?.(chat);
});

function waitForStatus({ status }: RemoteStorage, name: string): Promise<void> {
  return new Promise((resolve) => {
    const look = () => status.getSnapshot().status === name && resolve();
    status.subscribe(look);
    look();
  });
}
