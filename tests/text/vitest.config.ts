import { globSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import sources from "../../vitest.config.ts";

/* What `pnpm check text` looks at. Vitest runs it, but none of it is a test: nothing here is in a tier. */

const root = join(import.meta.dirname, "../..");
/** Checks of built files, each with a file that its build writes. */
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
    tags: [{ name: "link", description: "a broken link, the one thing that `pnpm check text` refuses" }],
    isolate: false,
    testTimeout: 60_000,
  },
});
