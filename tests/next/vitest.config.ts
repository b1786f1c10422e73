import { defineConfig } from "vitest/config";

/** A suite of its own: it needs the built packages, and `next build` takes longer than a test should. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    testTimeout: 60_000,
    reporters: ["default", "../../scripts/closing-line.ts"],
  },
});
