import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Creates a folder and its parents, and checks that files can be created in it. Does not use `mkdir` with `recursive`,
 * which never returns for some paths, such as `/proc/x`.
 *
 * @throws {Error} that names the folder
 */
export async function makeFolder(folder: string): Promise<void> {
  const path = resolve(folder);
  try {
    await makeWithParents(path);
    await access(path, constants.W_OK);
  } catch (cause) {
    throw new Error(`No files can be saved in ${path}: ${(cause as Error).message}`, { cause });
  }
}

async function makeWithParents(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return;
  if (found) throw new Error(`${path} is a file`);
  if (dirname(path) === path) throw new Error(`there is no ${path}`);
  await makeWithParents(dirname(path));
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    // another process has created it
    if (error.code !== "EEXIST") throw error;
  });
}
