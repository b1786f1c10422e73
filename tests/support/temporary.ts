import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";

/**
 * Creates a folder for one test file, and removes it after the file. It is in `tests/.tmp`, so that modules in it resolve
 * the packages of the workspace, and its name is unique, so that two runs in one clone do not share it.
 *
 * Call it at the top of a file or of a `describe`.
 *
 * @param parent another folder to create it in
 */
export function createTemporaryFolder(name: string, parent = join(import.meta.dirname, "../.tmp")): string {
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, `${name}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
