import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { build as bundle } from "vite";
import { build } from "vitepress";
import { buildHostedStudio } from "../../examples/studio/demo/hosted/build.ts";
import { writeForPrograms } from "./llms.ts";
import { writeReference } from "./reference/write.ts";

/* Builds the site into `docs/dist`. `--prepare` only writes the generated pages. `--plain` turns off syntax highlighting.
   `DOCS_BASE` is the base path of the site, and `DOCS_OUT` replaces the output folder. */

const docs = dirname(import.meta.dirname);
writeReference();
// a Service Worker must be at the root of its scope, in one file
await bundle({
  configFile: false,
  logLevel: "warn",
  root: docs,
  publicDir: false,
  build: {
    outDir: "public",
    lib: {
      entry: join(docs, ".vitepress/live/service-worker.ts"),
      formats: ["es"],
      fileName: () => "service-worker.js",
    },
    rolldownOptions: { output: { codeSplitting: false } },
  },
});
buildRegistry();
if (!process.argv.includes("--prepare")) {
  const out = join(docs, process.env["DOCS_OUT"] ?? "dist");
  await build(docs);
  writeForPrograms(out);
  // a separate app below the site, with its own Service Worker
  await buildHostedStudio(join(out, "studio"), "../");
}

/** Writes the components that shadcn's command takes into apps: `r/<name>.json`. */
function buildRegistry(): void {
  const registry = join(docs, "../labs/registry");
  const command = join(registry, "node_modules/shadcn/dist/index.js");
  const options = ["build", "--cwd", registry, "--output", join(docs, "public/r")];
  execFileSync(process.execPath, [command, ...options], { stdio: "pipe" });
}
