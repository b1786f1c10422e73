import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import { expect, onTestFinished, test, vi } from "vitest";
import * as words from "../../examples/studio/src/words.ts";

test("The first screen of a page that is built for another gateway claims nothing about the emulator", {
  timeout: 180_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-studio-"));
  const root = join(import.meta.dirname, "../../examples/studio");
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });
  vi.stubEnv("VITE_GATEWAY", "https://gateway.example");
  await build({ root, logLevel: "silent", build: { outDir: folder, emptyOutDir: true } });
  const html = await readFile(join(folder, "index.html"), "utf8");
  expect(html).toContain(`>${words.welcomeWords(false)}<`);
  expect(html).not.toMatch(/free|emulator/i);
});
