import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { managers, pack, run, writeProject } from "../../scripts/tarballs.ts";

const here = import.meta.dirname;
const temporary = join(here, "../.tmp");

/** A folder for one run, below `tests/.tmp`, which is deleted when this process ends. */
export function temporaryFolder(): string {
  mkdirSync(temporary, { recursive: true });
  const folder = mkdtempSync(join(temporary, "everywhere-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Packs the built packages. Returns the path of each tarball. */
export function packInto(folder: string): ReadonlyMap<string, string> {
  mkdirSync(folder, { recursive: true });
  return pack(folder);
}

/** A project with the packages, as npm installs them, and with the behaviours. */
export function installProject(
  folder: string,
  tarballs: ReadonlyMap<string, string>,
  dependencies: Readonly<Record<string, string>>,
): void {
  writeProject(folder, tarballs, dependencies);
  run(managers[0]?.install ?? [], folder);
  copyBehaviours(folder);
}

/** Copies the behaviours and the programs that run them. */
export function copyBehaviours(folder: string): void {
  cpSync(join(here, "behaviours"), join(folder, "behaviours"), { recursive: true });
  cpSync(join(here, "platforms"), folder, { recursive: true });
}
