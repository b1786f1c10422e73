import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import { expect, onTestFinished, test, vi } from "vitest";

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
  const files = globSync("{index.html,assets/*.js}", { cwd: folder });
  const findText = (text: RegExp) =>
    files.filter((name) => text.test(readFileSync(join(folder, name), "utf8")));
  expect(findText(/It streams, retries and resumes\./)).not.toEqual([]);
  expect(findText(/runs offline|Scripted responses/)).toEqual([]);
});
