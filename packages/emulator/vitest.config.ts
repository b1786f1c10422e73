import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: "@sluice/core/schemas", replacement: source("../core/src/entries/schemas.ts") },
      { find: "@sluice/core/internal", replacement: source("../core/src/entries/internal.ts") },
      { find: "@sluice/core", replacement: source("../core/src/entries/index.ts") },
      { find: "@sluice/emulator/serve", replacement: source("src/serve.ts") },
      { find: "@sluice/emulator/tapes", replacement: source("src/tapes/index.ts") },
      { find: "@sluice/emulator", replacement: source("src/index.ts") },
    ],
  },
  test: {
    name: "emulator",
    environment: "node",
    include: ["test/**/*.test.ts"],
    exclude: ["**/*.workerd.*"],
    root: source("."),
    // a picture takes a while to paint beside browsers and workerd
    testTimeout: 30_000,
  },
});
