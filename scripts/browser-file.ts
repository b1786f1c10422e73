import { join } from "node:path";
import { build } from "vite";

/*
 * Bundles the core's `src/entries/browser.ts` with its dependencies into `dist/browser.js`, and writes their licences beside it.
 */

const folder = join(import.meta.dirname, "../packages/core");

await build({
  configFile: false,
  logLevel: "warn",
  root: folder,
  build: {
    outDir: "dist",
    emptyOutDir: false,
    target: "es2022",
    license: { fileName: "browser.licences.md" },
    lib: { entry: "src/entries/browser.ts", formats: ["es"], fileName: () => "browser.js" },
    rolldownOptions: { output: { codeSplitting: false, minify: true } },
  },
});
