import { defineConfig } from "tsup";

/** Bundled, unlike the other packages: the core's event reader goes in, so that nothing has to be installed. */
export default defineConfig({
  entry: ["src/index.ts", "src/auth/index.ts", "src/node.ts", "src/internal.ts"],
  format: "esm",
  target: "es2022",
  platform: "neutral",
  // Deno and Workers know them by this name alone
  removeNodeProtocol: false,
  external: [/^node:/, "jose"],
  clean: true,
  plugins: [
    {
      name: "no bare imports",
      // nothing here has side effects, and wrangler would print a page of warnings; the line stays, for the maps
      renderChunk: (code) => ({ code: code.replace(/^import "\.{1,2}\/chunk-\w+\.js";$/gm, "") }),
    },
  ],
});
