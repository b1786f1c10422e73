import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { sources as alias } from "../../scripts/sources.ts";

const root = fileURLToPath(new URL(".", import.meta.url));
/** Time after which a test hangs, in milliseconds. On two busy cores workerd and its sockets take long. */
const testTimeout = 60_000;
const inWorkerd = "test/**/*.workerd.test.ts";
/** The seed and the number of runs of a fuzz test. workerd does not see the variables of the process. */
const { SLUICE_SEED, SLUICE_RUNS } = process.env;
const env = { ...(SLUICE_SEED && { SLUICE_SEED }), ...(SLUICE_RUNS && { SLUICE_RUNS }) };

/**
 * Two projects. Tests in Node run SQLite and Postgres, and start a workerd where they kill it. Tests in workerd run inside
 * the Worker of `host-worker.ts`, whose plugins store in one class.
 */
export default defineConfig({
  test: {
    projects: [
      {
        root,
        resolve: { alias },
        test: {
          name: "durable",
          include: ["test/**/*.test.ts"],
          exclude: ["**/*.workerd.*"],
          hookTimeout: 60_000,
          testTimeout,
          env: { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" },
        },
      },
      {
        root,
        resolve: { alias },
        plugins: [
          cloudflareTest({
            main: "./test/fixture/host-worker.ts",
            miniflare: {
              compatibilityDate: "2026-10-01",
              compatibilityFlags: ["enable_request_signal"],
              durableObjects: {
                SLUICE: { className: "Sluice", useSQLite: true },
                BUDGETS: { className: "Budgets", useSQLite: true },
                COUNTED: { className: "Counted", useSQLite: true },
                STORED: { className: "Stored", useSQLite: true },
              },
              r2Buckets: ["MEDIA"],
            },
          }),
        ],
        test: { name: "durable-workerd", include: [inWorkerd], testTimeout, env },
      },
    ],
  },
});
