import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";
import proxy from "./packages/worker-proxy/vitest.config.ts";
import { chromiumFlags, findChromium } from "./scripts/chromium.ts";
import { conformanceData } from "./tests/support/conformance.ts";

const chromium = findChromium();
const source = (path: string) => new URL(`./packages/${path}`, import.meta.url).pathname;

/** Tests import what a user imports, and run on the sources. */
const alias = [
  { find: "@sluice/core/sse", replacement: source("core/src/sse.ts") },
  { find: "@sluice/core/media", replacement: source("core/src/media.ts") },
  { find: "@sluice/core/schemas", replacement: source("core/src/schemas.ts") },
  { find: "@sluice/core", replacement: source("core/src/index.ts") },
  { find: "@sluice/react", replacement: source("react/src/index.ts") },
  { find: "@sluice/emulator/serve", replacement: source("emulator/src/serve.ts") },
  { find: "@sluice/emulator", replacement: source("emulator/src/index.ts") },
  { find: "@sluice/worker-proxy/auth", replacement: source("worker-proxy/src/auth/index.ts") },
  { find: "@sluice/worker-proxy", replacement: source("worker-proxy/src/index.ts") },
];
const bundledMediabunny = source("core/node_modules/mediabunny/dist/bundles/mediabunny.mjs");
const shared = { resolve: { alias }, plugins: [conformanceData()] };
const coreSuite = ["packages/core/test/**/*.test.ts"];
/** Until a test counts as hanging: on two cores, beside browsers and workerd, a long recorded stream takes its time. */
const testTimeout = 30_000;
const reactSuite = {
  environment: "happy-dom",
  include: ["packages/react/test/**/*.test.tsx"],
  exclude: ["**/*.browser.test.tsx"],
};
const react18 = (name: string) =>
  new URL(`./packages/react/node_modules/${name}-18`, import.meta.url).pathname;

/** Made anew for each project: vitest writes the project's name into it. */
const inChromium = (executablePath: string) => ({
  enabled: true,
  headless: true,
  screenshotFailures: false,
  provider: playwright({ launchOptions: { executablePath, args: chromiumFlags } }),
  instances: [{ browser: "chromium" as const }],
});

export default defineConfig({
  test: {
    reporters: ["default", "./scripts/closing-line.ts"],
    projects: [
      {
        ...shared,
        test: {
          name: "core in node",
          environment: "node",
          include: coreSuite,
          testTimeout,
          typecheck: {
            enabled: true,
            include: ["packages/core/test/**/*.test-d.ts"],
            tsconfig: "packages/core/test/tsconfig.json",
          },
        },
      },
      {
        // mediabunny's `browser` map, as this test tool reads it, leads to a module without a name
        resolve: { alias: [{ find: /^mediabunny$/, replacement: bundledMediabunny }, ...alias] },
        plugins: [conformanceData(), cloudflareTest({ miniflare: { compatibilityDate: "2026-10-01" } })],
        test: { name: "core in workerd", include: coreSuite, testTimeout },
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
        plugins: [conformanceData()],
        test: {
          ...reactSuite,
          name: "react 18",
          setupFiles: ["packages/react/test/react-18.mjs", "packages/react/test/setup.ts"],
          sequence: { setupFiles: "list" },
          provide: { reactMajor: "18" },
        },
      },
      "packages/emulator/vitest.config.ts",
      "packages/emulator/test/vitest.workerd.config.ts",
      ...(proxy.test?.projects ?? []),
      {
        ...shared,
        test: { name: "together", environment: "node", include: ["tests/*.test.ts"], testTimeout },
      },
      {
        ...shared,
        test: { name: "clients", environment: "node", include: ["tests/clients/*.test.ts"], testTimeout },
      },
      {
        ...shared,
        test: { name: "readme", environment: "happy-dom", include: ["tests/*.test.tsx"] },
      },
      ...(chromium
        ? [
            {
              ...shared,
              test: {
                name: "core in chromium",
                include: coreSuite,
                testTimeout,
                browser: inChromium(chromium),
              },
            },
            {
              ...shared,
              // found only when a test asks for them, they would make the page load again under it
              optimizeDeps: { include: ["react", "react/jsx-dev-runtime", "react-dom/client"] },
              test: {
                name: "react in chromium",
                testTimeout,
                root: "packages/react",
                include: ["test/**/*.browser.test.tsx"],
                browser: inChromium(chromium),
              },
            },
          ]
        : []),
    ],
  },
});
