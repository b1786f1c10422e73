import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { aliases } from "../../scripts/sources.ts";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: aliases,
  },
  test: {
    name: "otel",
    environment: "node",
    include: ["test/**/*.test.ts"],
    root: source("."),
  },
});
