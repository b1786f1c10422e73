import { build } from "vite";

/*
 * Bundles a package's entry for pages without a bundler with its dependencies into `dist/browser.js`, and writes their
 * licences beside it: `node ../../scripts/browser-file.ts src/browser.ts`, in the package's folder.
 */

const [entry = "src/browser.ts"] = process.argv.slice(2);

await build({
  configFile: false,
  logLevel: "warn",
  build: {
    outDir: "dist",
    emptyOutDir: false,
    target: "es2022",
    license: { fileName: "browser.licences.md" },
    lib: { entry, formats: ["es"], fileName: () => "browser.js" },
    rolldownOptions: { output: { codeSplitting: false, minify: true } },
  },
});
