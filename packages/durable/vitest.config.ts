import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { sources as alias } from "../../scripts/sources.ts";
import { onNodeHost, testTimeout } from "./test/support/on-node-host.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** The seed and the number of runs of a fuzz, which workerd does not see by itself. */
const { SLUICE_SEED, SLUICE_RUNS } = process.env;
const onNode = { prefix: "durable-on-", root: here("."), worker: here("./test/fixture/durable-worker.ts") };
const env = { ...(SLUICE_SEED && { SLUICE_SEED }), ...(SLUICE_RUNS && { SLUICE_RUNS }) };
const worker = { compatibilityDate: "2026-10-01", compatibilityFlags: ["enable_request_signal"] };

/** Files of tests inside a workerd, in the tier `test`; a glob takes their later tiers too. */
const inside = (name: string) => `test/${name}.workerd.test.ts`;
/** The same files in each tier. */
const inEachTier = (name: string) => `test/${name}{,.ci,.nightly}.test.ts`;
/** Files about Postgres, which one server for the run serves. */
const ofPostgres = "test/postgres-*.test.ts";
/** Tests that have their objects in workerd alone, and the reason. */
const inWorkerdAlone = [
  // how many rows workerd reads and writes: bounds and figures of the guides
  ...["capacity", "costs", "stream-cost", "once-rows"].map((name) => `${name}.workerd`),
  // an object of workerd is lost while its process goes on. Others lose the process: `*-kill`, `bucket-folder`
  ...["media-fuzz", "watch-fuzz", "stream-fuzz"].map((name) => `${name}.workerd`),
  // alarms of workerd ring by themselves; those of a Node process do in `video-kill`, `notify` and `node-objects`
  "video-proxy.workerd",
  // rows that earlier releases wrote there, which knew no other host
  "written-rows.workerd",
  // R2
  "bucket.workerd",
  // a process that gets no turn for seconds: Node runs timers before it reads what has come meanwhile
  "stream-busy",
  // peaks of workerd's memory
  "media-memory",
].map(inEachTier);
/** Tests that set the clock of the process, which the alarms of Postgres don't have; and an object that is lost with its last write. */
const notInPostgres = ["notices.workerd", "stream-lost.workerd"].map(inEachTier);
/**
 * Files that run on each host in `.ci/run`: what an object stores and loses, over sockets and inside the process, and kills.
 */
const onEachHost = [
  ...["once", "stream", "stream-kill", "video-kill"].map((name) => `test/${name}.test.ts`),
  ...["once", "stream"].map(inside),
];
/** Files whose objects may live in a Node process too, which run there at night. */
const onAnyHost = ["test/media-*.test.ts", "test/notify*.test.ts", inside("*")];
/** Files about the proxy's host in Durable Objects, which have a Worker of their own. */
const inHostWorker = "test/host-*.workerd.test.ts";
const nightly = {
  include: onAnyHost,
  exclude: [inHostWorker, ...onEachHost].map((path) => path.replace(".test.", "{,.ci,.nightly}.test.")),
};

/**
 * Node, from where a real workerd is asked over sockets; tests inside a workerd with all objects; and the same tests with
 * objects in a Node process.
 */
export default defineConfig({
  test: {
    projects: [
      {
        root: here("."),
        resolve: { alias },
        test: {
          name: "durable",
          include: ["test/**/*.test.ts"],
          exclude: ["**/*.{workerd,browser}.*", ofPostgres],
          hookTimeout: 60_000,
          testTimeout,
          env: { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" },
        },
      },
      onNodeHost(onNode, "node", { include: onEachHost, exclude: inWorkerdAlone }),
      onNodeHost(onNode, "node nightly", { ...nightly, exclude: [...nightly.exclude, ...inWorkerdAlone] }),
      onNodeHost(onNode, "postgres", {
        include: [...onEachHost, "test/keeper-contract.test.ts", ofPostgres],
        exclude: [...inWorkerdAlone, ...notInPostgres],
      }),
      onNodeHost(onNode, "postgres nightly", {
        ...nightly,
        exclude: [...nightly.exclude, ...inWorkerdAlone, ...notInPostgres],
      }),
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
                FUZZED_INDEX: { className: "FuzzedIndex", useSQLite: true },
              },
              r2Buckets: ["COUNTED_MEDIA", "FUZZED_MEDIA"],
            },
          }),
        ],
        test: {
          name: "durable-workerd",
          include: ["test/**/*.workerd.test.ts"],
          exclude: [inHostWorker.replace(".test.", "{,.ci,.nightly}.test.")],
          testTimeout,
          env,
        },
      },
      {
        root: here("."),
        resolve: { alias },
        plugins: [
          cloudflareTest({
            main: "./test/fixture/host-worker.ts",
            miniflare: { ...worker, durableObjects: { SLUICE: { className: "Sluice", useSQLite: true } } },
          }),
        ],
        test: { name: "durable-host-workerd", include: [inHostWorker], testTimeout, env },
      },
    ],
  },
});
