import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import node from "../vitest.config.ts";

/** Tests of everything that depends on the platform, inside workerd. */
export default defineConfig({
  ...node,
  plugins: [cloudflareTest({ miniflare: { compatibilityDate: "2026-10-01" } })],
  test: {
    name: "emulator in workerd",
    include: ["test/**/*.workerd.test.ts"],
    root: fileURLToPath(new URL("..", import.meta.url)),
  },
});
