import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { onNodeHost, testTimeout } from "../../packages/durable/test/support/on-node-host.ts";
import { sources as alias } from "../../scripts/sources.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const onNode = {
  prefix: "lab sync on ",
  root: here("."),
  worker: here("./test/server/fixture/sync-worker.ts"),
};

const test = (name: string) => `test/server/${name}.test.ts`;
/** Files that run on each host in `.ci/run`: what an object stores and loses, and kills. */
const onEachHost = [test("runner-kill"), test("runner.workerd")];
/** How many rows workerd reads and writes. */
const inWorkerdAlone = ["conversations-growth", "runner-rows"].map((name) =>
  test(`${name}.workerd{,.ci,.nightly}`),
);
const ofPostgres = test("postgres-*");
const nightly = {
  include: [test("*.workerd")],
  exclude: [...inWorkerdAlone, ...onEachHost.map((path) => path.replace(".test.", "{,.ci,.nightly}.test."))],
};

/** The server half: Node, from where a real workerd is asked; inside a workerd; and objects in a Node process. */
export default defineConfig({
  test: {
    projects: [
      {
        root: here("."),
        resolve: { alias },
        test: {
          name: "lab sync server",
          include: [test("*")],
          exclude: ["**/*.workerd.*", ofPostgres],
          hookTimeout: 60_000,
          testTimeout,
          env: { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" },
        },
      },
      onNodeHost(onNode, "node", { include: onEachHost, exclude: inWorkerdAlone }),
      onNodeHost(onNode, "node nightly", nightly),
      onNodeHost(onNode, "postgres", { include: [...onEachHost, ofPostgres], exclude: inWorkerdAlone }),
      onNodeHost(onNode, "postgres nightly", nightly),
      {
        root: here("."),
        resolve: { alias },
        plugins: [
          cloudflareTest({
            main: "./test/server/fixture/sync-worker.ts",
            miniflare: {
              compatibilityDate: "2026-10-01",
              compatibilityFlags: ["enable_request_signal"],
              durableObjects: {
                CONVERSATIONS: { className: "Conversations", useSQLite: true },
                RUN_CONVERSATIONS: { className: "RunConversations", useSQLite: true },
                STREAM_LOG: { className: "StreamLog", useSQLite: true },
                ONCE: { className: "Once", useSQLite: true },
              },
            },
          }),
        ],
        test: { name: "lab sync in workerd", include: [test("*.workerd")], testTimeout },
      },
    ],
  },
});
