import { expect, test } from "vitest";
import { bundle } from "./support/bundle.js";
import { startMiniflare } from "./support/miniflare.js";

test("the platform's own binding takes a data point", async () => {
  const miniflare = startMiniflare({
    workers: [
      {
        name: "worker",
        modules: [
          {
            type: "ESModule",
            path: "worker.js",
            contents: await bundle("worker-proxy/test/fixture/analytics-worker.ts"),
          },
        ],
        compatibilityDate: "2026-10-01",
        unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
        analyticsEngineDatasets: { EVENTS: { dataset: "events" } },
      },
    ],
  });
  await miniflare.ready;
  const answer = await fetch(await miniflare.unsafeGetDirectURL("worker"));
  expect([answer.status, await answer.text()]).toEqual([200, "written"]);
  await miniflare.dispose();
});
