import { defineConfig } from "tsup";

/** Bundled, unlike the other packages: the core's event reader goes in, so that nothing has to be installed. */
export default defineConfig({
  entry: ["src/index.ts", "src/auth/index.ts", "src/durable/index.ts"],
  format: "esm",
  target: "es2022",
  platform: "neutral",
  external: ["jose"],
  sourcemap: true,
  clean: true,
});
