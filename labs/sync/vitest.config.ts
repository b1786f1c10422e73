import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { sources as alias } from "../../scripts/sources.ts";

const root = fileURLToPath(new URL(".", import.meta.url));

/** Tests of the server inside a workerd. The others are in the project "lab sync". */
export default defineConfig({
  root,
  resolve: { alias },
  plugins: [
    cloudflareTest({
      main: "./test/server/fixture/sync-worker.ts",
      miniflare: {
        compatibilityDate: "2026-10-01",
        compatibilityFlags: ["enable_request_signal"],
        durableObjects: { SYNC: { className: "Sync", useSQLite: true } },
      },
    }),
  ],
  test: { name: "lab sync in workerd", include: ["test/**/*.workerd.test.ts"] },
});
