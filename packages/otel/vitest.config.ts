import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: "@sluice/core/sse", replacement: source("../core/src/entries/sse.ts") },
      { find: "@sluice/core/schemas", replacement: source("../core/src/entries/schemas.ts") },
      { find: "@sluice/core/internal", replacement: source("../core/src/entries/internal.ts") },
      { find: "@sluice/core", replacement: source("../core/src/entries/index.ts") },
      { find: "@sluice/emulator", replacement: source("../emulator/src/index.ts") },
      { find: "@sluice/worker-proxy", replacement: source("../worker-proxy/src/index.ts") },
      { find: "@sluice/otel/proxy", replacement: source("src/proxy/index.ts") },
      { find: "@sluice/otel", replacement: source("src/index.ts") },
    ],
  },
  test: {
    name: "otel",
    environment: "node",
    include: ["test/**/*.test.ts"],
    root: source("."),
  },
});
