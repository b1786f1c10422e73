import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const alias = {
  "@sluice/core/sse": here("../core/src/entries/sse.ts"),
  "@sluice/core/internal": here("../core/src/entries/internal.ts"),
  "@sluice/worker-proxy/auth": here("./src/auth/index.ts"),
  "@sluice/worker-proxy/durable": here("./src/durable/index.ts"),
  "@sluice/worker-proxy/media": here("./src/media/index.ts"),
  "@sluice/worker-proxy/notify": here("./src/notify/index.ts"),
  "@sluice/worker-proxy/operator": here("./src/operator/index.ts"),
  "@sluice/worker-proxy/push": here("./src/push/index.ts"),
  "@sluice/worker-proxy": here("./src/index.ts"),
};
/** Until a test counts as hanging: on two busy cores workerd and its sockets take their time. */
const testTimeout = 60_000;
const worker = { compatibilityDate: "2026-10-01", compatibilityFlags: ["enable_request_signal"] };

/** Node, from where a real workerd is asked over sockets; and tests inside workerd, without and with Durable Objects. */
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
          exclude: ["test/durable-*"],
          testTimeout,
        },
      },
      {
        root: here("."),
        resolve: { alias },
        plugins: [
          cloudflareTest({
            main: "./test/fixture/durable-worker.ts",
            miniflare: {
              ...worker,
              bindings: { BRISK_MS: 2000 },
              durableObjects: {
                VIDEO_WATCH: { className: "VideoWatch", useSQLite: true },
                BRISK_WATCH: { className: "BriskWatch", useSQLite: true },
                BUDGET: { className: "Budget", useSQLite: true },
                STREAM_LOG: { className: "StreamLog", useSQLite: true },
                BOUNDED_STREAM_LOG: { className: "BoundedStreamLog", useSQLite: true },
                FUZZED_STREAM_LOG: { className: "FuzzedStreamLog", useSQLite: true },
                PAID_STREAM_LOG: { className: "PaidStreamLog", useSQLite: true },
                ONCE: { className: "Once", useSQLite: true },
                PAID_ONCE: { className: "PaidOnce", useSQLite: true },
                COUNTED_WATCH: { className: "CountedWatch", useSQLite: true },
                COUNTED_INDEX: { className: "CountedIndex", useSQLite: true },
                NOTICE_WATCH: { className: "NoticeWatch", useSQLite: true },
                NOTICE_PUSH: { className: "NoticePush", useSQLite: true },
                COUNTED_PUSH: { className: "CountedPush", useSQLite: true },
                FUZZED_INDEX: { className: "FuzzedIndex", useSQLite: true },
              },
              r2Buckets: ["COUNTED_MEDIA", "FUZZED_MEDIA"],
            },
          }),
        ],
        test: { name: "worker-proxy-durable", include: ["test/durable-*.workerd.test.ts"], testTimeout },
      },
    ],
  },
});
