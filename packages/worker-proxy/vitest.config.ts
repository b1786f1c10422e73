import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const here = (path: string) => new URL(path, import.meta.url).pathname;
const alias = { "@sluice/worker-proxy": here("./src/index.ts") };

/** Two hosts: Node, from where a real workerd is asked over sockets; and tests that run inside workerd. */
export default defineConfig({
  test: {
    projects: [
      {
        root: here("."),
        resolve: { alias },
        test: {
          name: "worker-proxy",
          include: ["test/**/*.test.ts"],
          exclude: ["**/*.workerd.test.ts"],
          hookTimeout: 60_000,
          env: { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" },
        },
      },
      {
        root: here("."),
        resolve: { alias },
        plugins: [
          cloudflareTest({
            miniflare: {
              compatibilityDate: "2026-10-01",
              compatibilityFlags: ["enable_request_signal"],
            },
          }),
        ],
        test: { name: "worker-proxy-workerd", include: ["test/**/*.workerd.test.ts"] },
      },
    ],
  },
});
