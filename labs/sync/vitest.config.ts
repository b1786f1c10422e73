import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { sources as alias } from "../../scripts/sources.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const durable = (path: string) => here(`../../packages/durable/test/support/${path}`);
const onNode = durable("cloudflare-on-node.ts");
/** Until a test counts as hanging: on two busy cores workerd and its sockets take their time. */
const testTimeout = 60_000;

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

/** Tests with their objects in this process or one that they start, on a host as `node nightly` names it. */
function onNodeHost(name: string, files: { include: string[]; exclude: string[] }) {
  const [host = ""] = name.split(" ");
  return {
    root: here("."),
    resolve: {
      alias: {
        ...alias,
        "cloudflare:test": onNode,
        "cloudflare:workers": durable("env-on-node.ts"),
      },
    },
    test: {
      name: `lab sync on ${name}`,
      ...files,
      ...(host === "postgres" && { globalSetup: durable("postgres-for-run.ts") }),
      hookTimeout: 60_000,
      testTimeout,
      env: { SLUICE_HOST: host, SLUICE_WORKER: here("./test/server/fixture/sync-worker.ts") },
      setupFiles: [onNode],
    },
  };
}

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
      onNodeHost("node", { include: onEachHost, exclude: inWorkerdAlone }),
      onNodeHost("node nightly", nightly),
      onNodeHost("postgres", { include: [...onEachHost, ofPostgres], exclude: inWorkerdAlone }),
      onNodeHost("postgres nightly", nightly),
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
