import { globSync } from "node:fs";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";

/** Returns the path of a database of this test. */
export async function openFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-files-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "rows.db");
}

/** Copies a database in the state that a killed process would leave. */
export async function copyDatabase(file: string): Promise<string> {
  const copy = `${file}.copy`;
  for (const part of ["", "-wal"]) await copyFile(file + part, copy + part).catch(() => {});
  return copy;
}

/** Makes all owners of jobs in a folder's databases have been silent for too long. Only while no process has them open. */
export function expireOwners(folder: string): void {
  for (const path of globSync("**/*.{sqlite,db}", { cwd: folder })) {
    const database = new DatabaseSync(join(folder, path));
    const [jobs] = database.prepare("SELECT name FROM sqlite_master WHERE name = 'jobs'").all();
    if (jobs) database.exec("UPDATE jobs SET alive_until = 0 WHERE expires_at IS NULL");
    database.close();
  }
}
