import { globSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import sources from "../../vitest.config.ts";

/* Runs `pnpm check text` with Vitest. The checks are not tests: `pnpm test` never runs them. */

const root = join(import.meta.dirname, "../..");
/** Checks that need built files, each with one of these files. A check without them is left out. */
const built = {
  "docs-search": "docs/dist/assets/chunks/@localSearchIndexroot*.js",
  "browser-support": "packages/{core/dist/entries,react/dist}/index.js",
};
const missing = Object.entries(built).filter(([, glob]) => globSync(glob, { cwd: root }).length === 0);
const projects = (sources.test?.projects ?? []) as readonly ViteUserConfig[];
const { resolve = {}, plugins = [] } = projects.find(({ test }) => test?.name === "rules") ?? {};

export default defineConfig({
  root,
  resolve,
  plugins,
  test: {
    name: "text",
    include: ["tests/text/*.check.ts"],
    exclude: missing.map(([name]) => `tests/text/${name}.check.ts`),
    tags: [
      { name: "link", description: "a broken link, the only kind of problem that fails `pnpm check text`" },
    ],
    isolate: false,
    testTimeout: 60_000,
  },
});
