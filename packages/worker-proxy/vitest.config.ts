import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { sources as alias } from "../../scripts/sources.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** Until a test counts as hanging: on two busy cores workerd and its sockets take their time. */
const testTimeout = 60_000;
const worker = { compatibilityDate: "2026-10-01", compatibilityFlags: ["enable_request_signal"] };

/** Node, from where a real workerd is asked over sockets; and tests inside workerd. */
export default defineConfig({
  test: {
    projects: [
      {
        root: here("."),
        resolve: { alias },
        test: {
          name: "worker-proxy",
          include: ["test/**/*.test.ts"],
          exclude: ["**/*.workerd.*"],
          hookTimeout: 60_000,
          testTimeout,
          env: { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" },
        },
      },
      {
        root: here("."),
        resolve: { alias },
        plugins: [cloudflareTest({ miniflare: worker })],
        test: {
          name: "worker-proxy-workerd",
          include: ["test/**/*.workerd.test.ts"],
          testTimeout,
        },
      },
    ],
  },
});
