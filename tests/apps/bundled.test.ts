import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { expect, test } from "vitest";
import { createTemporaryFolder } from "../support/temporary.ts";

/* A page that uses all of the packages, as its bundler sees it. `pnpm everywhere` has other bundlers, and runs a page of each. */

const folder = createTemporaryFolder("bundled");

/** Every entry for pages: of the core, the stores, media and React. */
const entries = ["core", "stores", "media", "react"].flatMap((name) => {
  const manifest = readFileSync(join(import.meta.dirname, `../../packages/${name}/package.json`), "utf8");
  return Object.keys(JSON.parse(manifest).exports)
    .filter((path) => path !== "./package.json")
    .map((path) => join("@sluice", name, path));
});

test("A page that imports every entry is built without a warning, though much of it is also loaded later", async () => {
  expect(entries.length).toBeGreaterThan(7);
  const imports = entries.map((entry, at) => `import * as all${at} from "${entry}";\n`);
  const names = entries.map((_, at) => `all${at}`);
  const page = join(folder, "page.js");
  writeFileSync(page, `${imports.join("")}globalThis.all = [${names}];\n`);
  const warnings: string[] = [];
  await build({
    configFile: false,
    root: folder,
    logLevel: "silent",
    build: {
      outDir: "out",
      minify: false,
      // other bundlers print how long they took
      rolldownOptions: {
        input: page,
        onLog: (level, { message }) => level === "warn" && warnings.push(message),
      },
    },
  });
  expect(warnings).toEqual([]);
  // lazy modules are still separate files
  expect(globSync("out/assets/*.js", { cwd: folder }).length).toBeGreaterThan(5);
});
