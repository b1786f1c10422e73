import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Lets programs of a folder import the client of Postgres. */
export async function linkPostgres(folder: string): Promise<void> {
  await mkdir(join(folder, "node_modules"));
  const installed = fileURLToPath(new URL("../../node_modules/pg", import.meta.url));
  await symlink(installed, join(folder, "node_modules", "pg"));
}
