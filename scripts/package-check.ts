import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack, readUnpackedSize, run } from "./tarballs.ts";

/*
 * Packs the built packages, and checks each tarball: its manifest, its types, and the size of the core.
 */

/** Maximum unpacked size of `@sluice/core`, in kB. */
const MAX_CORE_KILOBYTES = 400;

const root = join(import.meta.dirname, "..");
const bin = join(root, "node_modules/.bin");
const folder = mkdtempSync(join(tmpdir(), "sluice-packages-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

for (const [name, tarball] of pack(folder)) {
  const kilobytes = readUnpackedSize(tarball) / 1000;
  console.log(`${name.padEnd(24)}${kilobytes.toFixed(0).padStart(5)} kB`);
  try {
    if (name === "@sluice/core" && kilobytes > MAX_CORE_KILOBYTES)
      throw new Error(`larger than ${MAX_CORE_KILOBYTES} kB, its limit in scripts/package-check.ts`);
    run([join(bin, "publint"), "run", "--strict", tarball], root);
    run([join(bin, "attw"), tarball, "--profile", "esm-only", "--no-emoji"], root);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
