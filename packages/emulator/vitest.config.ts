import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { aliases } from "../../scripts/sources.ts";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: aliases,
  },
  test: {
    name: "emulator",
    environment: "node",
    include: ["test/**/*.test.ts"],
    exclude: ["**/*.workerd.*"],
    root: source("."),
    // an image takes a while to paint beside browsers and workerd
    testTimeout: 30_000,
  },
});
