import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack, readUnpackedSize, run } from "./tarballs.ts";

/*
 * Packs the built packages, and checks each tarball: its manifest, its types, and its size beside the largest allowed.
 */

/** Largest size of each package once it is unpacked, in kB: about a twentieth above that of today. */
const MAX_KILOBYTES: Readonly<Record<string, number>> = {
  "@sluice/ai-sdk": 70,
  "@sluice/batch": 45,
  "@sluice/core": 550,
  "create-sluice": 560,
  "@sluice/durable": 485,
  "@sluice/emulator": 270,
  "@sluice/mcp": 80,
  "@sluice/media": 95,
  "@sluice/otel": 30,
  "@sluice/prices": 35,
  "@sluice/react": 80,
  "@sluice/stores": 355,
  "@sluice/worker-proxy": 285,
};

const root = join(import.meta.dirname, "..");
const bin = join(root, "node_modules/.bin");
const folder = mkdtempSync(join(tmpdir(), "sluice-packages-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

for (const [name, tarball] of pack(folder)) {
  const kilobytes = readUnpackedSize(tarball) / 1000;
  const most = MAX_KILOBYTES[name] ?? 0;
  console.log(`${name.padEnd(24)}${kilobytes.toFixed(0).padStart(5)} kB of ${most}`);
  try {
    if (kilobytes > most) throw new Error(`larger than ${most} kB, its limit in scripts/package-check.ts`);
    run([join(bin, "publint"), "run", "--strict", tarball], root);
    run([join(bin, "attw"), tarball, "--profile", "esm-only", "--no-emoji"], root);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
