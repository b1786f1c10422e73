import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Returns the path of a database of this test. */
export async function openFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-files-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "rows.db");
}

/** Copies a database as it stands: as the process leaves it that ends now. */
export async function copyDatabase(file: string): Promise<string> {
  const copy = `${file}.copy`;
  for (const part of ["", "-wal"]) await copyFile(file + part, copy + part).catch(() => {});
  return copy;
}
