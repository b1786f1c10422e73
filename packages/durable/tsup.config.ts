import { defineConfig } from "tsup";

/**
 * A file for each file, so that a bundler drops what nobody imports. What it needs of the core and of prices goes in, so that
 * nothing has to be installed.
 */
export default defineConfig({
  entry: ["src/**/*.ts"],
  format: "esm",
  target: "es2022",
  platform: "neutral",
  // "node:sqlite" has no other name
  removeNodeProtocol: false,
  external: [/^node:/, /^@sluice\/worker-proxy/, "aws4fetch", "pg"],
  clean: true,
  plugins: [
    {
      name: "no bare imports",
      // nothing here has side effects, and wrangler would print a page of warnings; the line stays, for the maps
      renderChunk: (code) => ({ code: code.replace(/^import "\.{1,2}\/chunk-\w+\.js";$/gm, "") }),
    },
  ],
});
