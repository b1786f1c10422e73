import { defineConfig } from "tsup";

/**
 * Emits one file for each source file, so that bundlers drop unused plugins. Bundles the used code of core and prices, so
 * that users install no further package.
 */
export default defineConfig({
  entry: ["src/**/*.ts"],
  format: "esm",
  target: "es2022",
  platform: "neutral",
  // "node:sqlite" exists only with its prefix
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
