import { defineConfig } from "tsup";

/** Bundled, unlike the other packages: the core's event reader goes in, so that nothing has to be installed. */
export default defineConfig({
  entry: ["src/index.ts", "src/auth/index.ts", "src/node.ts", "src/plugin.ts"],
  format: "esm",
  target: "es2022",
  platform: "neutral",
  // Deno and Workers know them by this name alone
  removeNodeProtocol: false,
  external: [/^node:/, "jose"],
  clean: true,
  plugins: [
    {
      name: "no bare imports, no comments",
      // nothing here has side effects, and wrangler would print a page of warnings; it deploys comments, too
      renderChunk: (code) => ({
        code: code
          .replace(/^import "\.{1,2}\/chunk-\w+\.js";$/gm, "")
          .replace(/^\s*(?:\/\/.*|\/\*\*[\s\S]*?\*\/)\n/gm, ""),
      }),
    },
  ],
});
