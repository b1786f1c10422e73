import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig, mergeConfig, type ViteUserConfig } from "vitest/config";
import sync from "./labs/sync/vitest.config.ts";
import durable from "./packages/durable/vitest.config.ts";
import emulatorInWorkerd from "./packages/emulator/test/vitest.workerd.config.ts";
import emulator from "./packages/emulator/vitest.config.ts";
import mcp from "./packages/mcp/vitest.config.ts";
import otel from "./packages/otel/vitest.config.ts";
import proxy from "./packages/worker-proxy/vitest.config.ts";
import { chromiumFlags, findChromium } from "./scripts/chromium.ts";
import { aliases } from "./scripts/sources.ts";
import Sequencer from "./scripts/test/sequencer.ts";
import { filterTier, isFirstTier, isNightly, needsBuild, type Tier } from "./scripts/test/tiers.ts";
import { frameworkPlugins } from "./tests/recipes/plugins.ts";
import { createConformanceData } from "./tests/support/conformance.ts";

const source = (path: string) => fileURLToPath(new URL(`./packages/${path}`, import.meta.url));
// an install writes it, unless it had nothing else to do
if (!existsSync(source("core/src/types/json-schemas.ts")))
  execFileSync(process.execPath, [source("core/scripts/json-schemas.ts")]);
const chromium = findChromium();

const support = (name: string) => fileURLToPath(new URL(`./tests/support/${name}.ts`, import.meta.url));

/** Tests import what a user imports, and run on the sources. */
const alias = [
  { find: /^@\/(?=components\/sluice\/|lib\/)/, replacement: source("../labs/registry/") },
  ...aliases,
];
const bundledMediabunny = source("media/node_modules/mediabunny/dist/bundles/mediabunny.mjs");
const shared = { resolve: { alias }, plugins: [createConformanceData()] };
/** Tests share no state, so that a worker keeps its modules from one file to the next. A shard has one worker. */
const sharedWorkers = { isolate: false, maxWorkers: "100%" };
/** Projects whose tests move a clock of their own and start no process. */
const onClock = [
  "core in node",
  "stores in node",
  "media in node",
  "batch",
  "prices",
  "react",
  "react 18",
  "ai-sdk",
  "ai-sdk oldest",
  "mcp",
  "otel",
  "together",
];

/** Sets the time after which a test counts as hanging, and a poll, which is shorter. Later tiers have heavier tests. */
function limitTime(project: ViteUserConfig): ViteUserConfig {
  const usual = onClock.includes(String(project.test?.name)) ? 5000 : 30_000;
  // the slowest test takes 38 s alone on two cores
  const testTimeout = isFirstTier ? usual : 120_000;
  const limits = { testTimeout, hookTimeout: 60_000, expect: { poll: { timeout: (testTimeout * 2) / 3 } } };
  return { ...project, test: { ...project.test, ...limits } };
}

/** True for tests inside a workerd that has Durable Objects. */
const hasObjects = ({ test }: ViteUserConfig) => /^durable-|^lab sync in/.test(String(test?.name));
/** Tests that ask their platform for something: streams, bodies, files, storage, locks. */
const coreOnPlatforms = ["packages/core/test/platform/*.test.ts"];
/** Tests of what only a browser has. */
const coreInBrowsers = ["packages/core/test/browser/*.test.ts"];
const storesOnPlatforms = ["packages/stores/test/platform/*.test.ts"];
const storesInBrowsers = ["packages/stores/test/browser/*.test.ts"];
const mediaOnPlatforms = ["packages/media/test/platform/*.test.ts"];
const mediaInBrowsers = ["packages/media/test/browser/*.test.ts"];
const reactSuite = {
  ...sharedWorkers,
  environment: "happy-dom",
  include: ["packages/react/test/**/*.test.tsx"],
  exclude: ["**/*.browser.*"],
};
const react18 = (name: string) =>
  fileURLToPath(new URL(`./packages/react/node_modules/${name}-18`, import.meta.url));

/** Made anew for each project: vitest writes the project's name into it. */
const inChromium = (executablePath: string) => ({
  enabled: true,
  headless: true,
  screenshotFailures: false,
  provider: playwright({ launchOptions: { executablePath, args: chromiumFlags } }),
  instances: [{ browser: "chromium" as const }],
});

/** Adds the check of leaks to a project in Node. */
function checkLeaks(project: ViteUserConfig): ViteUserConfig {
  const isInNode = !project.test?.browser && !project.plugins?.flat().some(isWorkerd);
  if (!isInNode) return project;
  const setupFiles = [
    support("leaks"),
    ...(needsBuild(String(project.test?.name)) ? [support("built")] : []),
    ...[project.test?.setupFiles ?? []].flat(),
  ];
  return { ...project, test: { ...project.test, setupFiles } };
}
const isWorkerd = (plugin: unknown) => (plugin as { name?: string } | null)?.name?.includes("cloudflare");

/** Projects that first run in a later tier than `pnpm test`. */
const since: Readonly<Record<string, Tier>> = {
  "react 18": isNightly ? "nightly" : "ci",
  "ai-sdk oldest": "ci",
  "emulator in workerd": "ci",
  "lab sync": "ci",
  "lab sync in workerd": "ci",
  clients: "nightly",
  recipes: "nightly",
  // no package needs a lab
  "lab devtools": "ci",
  "lab registry": "ci",
};

const aiSuite = {
  ...sharedWorkers,
  // AI SDK prints warnings of calls, which the tests read from the results
  setupFiles: ["packages/ai-sdk/test/setup.ts"],
  environment: "node",
  include: ["packages/ai-sdk/test/**/*.test.{ts,tsx}"],
};
/** The oldest AI SDK that the package names as its peer. */
const oldestAI = [
  { find: /^ai$/, replacement: "ai-7-0" },
  { find: /^@ai-sdk\/provider$/, replacement: "ai-provider-4-0" },
  { find: /^@ai-sdk\/react$/, replacement: "ai-react-4-0" },
];

const projects: ViteUserConfig[] = [
  {
    ...shared,
    test: {
      ...sharedWorkers,
      name: "core in node",
      environment: "node",
      include: ["packages/core/test/*.test.ts", ...coreOnPlatforms],
    },
  },
  {
    ...shared,
    plugins: [createConformanceData(), cloudflareTest({ miniflare: { compatibilityDate: "2026-10-01" } })],
    test: { ...sharedWorkers, name: "core in workerd", include: [...coreOnPlatforms, ...storesOnPlatforms] },
  },
  {
    ...shared,
    test: {
      ...sharedWorkers,
      name: "stores in node",
      environment: "node",
      include: ["packages/stores/test/*.test.ts", ...storesOnPlatforms],
    },
  },
  {
    ...shared,
    test: {
      ...sharedWorkers,
      name: "media in node",
      environment: "node",
      include: ["packages/media/test/*.test.ts", ...mediaOnPlatforms],
    },
  },
  {
    // mediabunny's `browser` map, as this test tool reads it, leads to a module without a name
    resolve: { alias: [{ find: /^mediabunny$/, replacement: bundledMediabunny }, ...alias] },
    plugins: [createConformanceData(), cloudflareTest({ miniflare: { compatibilityDate: "2026-10-01" } })],
    test: { ...sharedWorkers, name: "media in workerd", include: mediaOnPlatforms },
  },
  {
    ...shared,
    test: {
      ...sharedWorkers,
      name: "lab sync",
      include: ["labs/sync/test/{client,server}/*.test.{ts,tsx}"],
      exclude: ["**/*.workerd.*"],
    },
  },
  {
    ...shared,
    test: {
      ...sharedWorkers,
      name: "batch",
      environment: "node",
      include: ["packages/batch/test/*.test.ts"],
    },
  },
  {
    ...shared,
    test: {
      ...sharedWorkers,
      name: "prices",
      environment: "node",
      include: ["packages/prices/test/*.test.ts"],
    },
  },
  {
    ...shared,
    test: {
      ...reactSuite,
      name: "react",
      setupFiles: ["packages/react/test/setup.ts"],
      provide: { reactMajor: "19" },
    },
  },
  {
    resolve: { alias: [{ find: /^(react|react-dom)(?=\/|$)/, replacement: react18("$1") }, ...alias] },
    plugins: [createConformanceData()],
    test: {
      ...reactSuite,
      ...(isNightly ? {} : { include: ["packages/react/test/{react-version,use-chat-stream}.test.tsx"] }),
      name: "react 18",
      setupFiles: ["packages/react/test/react-18.mjs", "packages/react/test/setup.ts"],
      sequence: { setupFiles: "list" },
      provide: { reactMajor: "18" },
    },
  },
  {
    ...shared,
    test: { ...aiSuite, name: "ai-sdk" },
  },
  {
    ...shared,
    resolve: { alias: [...oldestAI, ...alias] },
    test: {
      ...aiSuite,
      name: "ai-sdk oldest",
      // it has no operations of videos, and appends a response that is resumed to what the page has of it
      exclude: ["**/videos.test.ts", "**/transport-resume.test.tsx"],
    },
  },
  ...[
    emulator,
    emulatorInWorkerd,
    mcp,
    otel,
    sync,
    ...(proxy.test?.projects ?? []),
    ...(durable.test?.projects ?? []),
  ].map((project) =>
    mergeConfig(
      project as ViteUserConfig,
      // objects outlive the file that made them: what they still do must not run in another file's objects
      { test: { ...sharedWorkers, isolate: hasObjects(project as ViteUserConfig) } },
    ),
  ),
  ...["rules", "together", "pages", "apps", "studio", "docs"].map((name) => ({
    ...shared,
    test: {
      ...sharedWorkers,
      name,
      environment: "node",
      include: [`tests/${name}/*.test.ts`],
    },
  })),
  {
    ...shared,
    // a simulation replaces the clock of its process: timers that another file has left would run in it
    test: {
      ...sharedWorkers,
      isolate: true,
      name: "simulation",
      environment: "node",
      include: ["tests/simulation/*.test.ts"],
    },
  },
  {
    ...shared,
    test: {
      ...sharedWorkers,
      name: "clients",
      environment: "node",
      // those of large packages, where these are installed
      include: ["tests/clients/*.test.ts", "tests/clients/apart/*.test.ts"],
      exclude: existsSync(new URL("tests/clients/apart/node_modules", import.meta.url))
        ? []
        : ["tests/clients/apart/**"],
    },
  },
  {
    ...shared,
    plugins: [createConformanceData(), ...frameworkPlugins],
    test: {
      ...sharedWorkers,
      name: "recipes",
      root: "tests", // which has the frameworks
      setupFiles: [source("react/test/setup.ts")],
      environment: "happy-dom",
      include: ["recipes/*.test.{ts,tsx}"],
      // its modules have no extensions, as bundlers of apps take them
      server: { deps: { inline: [/async-storage/] } },
    },
  },
  ...["devtools", "registry"].map((name) => ({
    ...shared,
    test: {
      ...sharedWorkers,
      name: `lab ${name}`,
      setupFiles: ["packages/react/test/setup.ts"],
      environment: "happy-dom",
      include: [`labs/${name}/test/**/*.test.{ts,tsx}`],
    },
  })),
  {
    ...shared,
    test: {
      ...sharedWorkers,
      name: "in a DOM",
      setupFiles: ["packages/react/test/setup.ts"],
      environment: "happy-dom",
      include: ["tests/{apps,docs,pages,rules,together}/*.test.tsx", "examples/vitest/*.test.{ts,tsx}"],
    },
  },
  ...(chromium
    ? [
        {
          ...shared,
          test: {
            ...sharedWorkers,
            name: "core in chromium",
            include: [
              ...coreOnPlatforms,
              ...coreInBrowsers,
              ...storesOnPlatforms,
              ...storesInBrowsers,
              "packages/batch/test/browser/*.test.ts",
            ],
            browser: inChromium(chromium),
          },
        },
        {
          ...shared,
          test: {
            ...sharedWorkers,
            name: "media in chromium",
            include: [...mediaOnPlatforms, ...mediaInBrowsers],
            browser: inChromium(chromium),
          },
        },
        {
          ...shared,
          // found only when a test asks for them, they would make the page load again under it
          optimizeDeps: { include: ["react", "react/jsx-dev-runtime", "react-dom/client"] },
          test: {
            ...sharedWorkers,
            name: "react in chromium",
            root: "packages/react",
            include: ["test/**/*.browser.test.tsx"],
            browser: inChromium(chromium),
          },
        },
      ]
    : []),
];

export default defineConfig({
  test: {
    reporters: process.env["SLUICE_RESULTS"] ? ["./scripts/test/reporter.ts"] : ["default"],
    sequence: { sequencer: Sequencer },
    projects: projects.flatMap((project) =>
      filterTier(limitTime(checkLeaks(project)), since[String(project.test?.name)]),
    ),
  },
});
