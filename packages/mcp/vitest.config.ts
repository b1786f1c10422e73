import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: "@sluice/core/schemas", replacement: source("../core/src/entries/schemas.ts") },
      { find: "@sluice/core/media", replacement: source("../core/src/entries/media.ts") },
      { find: "@sluice/core/internal", replacement: source("../core/src/entries/internal.ts") },
      { find: "@sluice/core", replacement: source("../core/src/entries/index.ts") },
      { find: "@sluice/emulator/serve", replacement: source("../emulator/src/serve.ts") },
      { find: "@sluice/emulator", replacement: source("../emulator/src/index.ts") },
      { find: "@sluice/mcp/tools", replacement: source("src/tools-from-mcp.ts") },
      { find: "@sluice/mcp", replacement: source("src/index.ts") },
    ],
  },
  test: {
    name: "mcp",
    environment: "node",
    include: ["test/**/*.test.ts"],
    root: source("."),
  },
});
