import { createHash } from "node:crypto";
import { lstat, mkdir, open, opendir, realpath, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { logError } from "@sluice/worker-proxy/plugin";

/** Pause between two searches for leftovers of crashes, in milliseconds. */
const SWEEP_MS = 3_600_000;
/**
 * Age at which an unfinished file counts as abandoned, in milliseconds. A running write changes its file all the time.
 */
const MAX_FILE_AGE_MS = 86_400_000;
/** Time since its last part after which an upload counts as abandoned, in milliseconds, as in R2. */
const MAX_UPLOAD_AGE_MS = 7 * 86_400_000;

export type Paths = ReturnType<typeof createPaths>;

/**
 * Manages the paths of a bucket in its folder. `files` contains complete files, each named by the hash of its key. The
 * hash keeps each path inside the folder, and separates keys that differ only in case on every disk. `unfinished`
 * contains files and uploads in progress.
 */
export function createPaths(folder: string) {
  let sweptAt = Number.NEGATIVE_INFINITY;
  return { findFile, openUnfinished, moveToKey, removeFiles };

  /** @throws {Error} with the code `ENOENT` if no such file was ever stored */
  async function findFile(key: string): Promise<string> {
    const name = hashName(key);
    return join(await resolvePath("files", name.slice(0, 2)), name);
  }

  /** Creates the folder for unfinished files. Deletes abandoned files at most once per hour. */
  async function openUnfinished(): Promise<string> {
    const path = await createFolder("unfinished");
    const now = Date.now();
    if (now < sweptAt + SWEEP_MS) return path;
    sweptAt = now;
    await sweep(path, now).catch((error) =>
      logError(`folderBucket: old files could not be deleted: ${error}`),
    );
    return path;
  }

  /** Moves a written file to the path of its key. Replaces an earlier file. */
  async function moveToKey(path: string, key: string): Promise<void> {
    const name = hashName(key);
    try {
      const parent = await createFolder("files", name.slice(0, 2));
      await rename(path, join(parent, name));
      await syncFolder(parent);
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  /** Deletes files by name. Ignores missing files. */
  async function removeFiles(keys: readonly string[]): Promise<void> {
    const parents = new Set<string>();
    for (const key of keys) {
      const path = await findFile(key).catch(ignoreMissing);
      if (path === undefined) continue;
      await rm(path, { force: true });
      parents.add(dirname(path));
    }
    for (const parent of parents) await syncFolder(parent);
  }

  async function createFolder(...names: string[]): Promise<string> {
    await mkdir(join(folder, ...names), { recursive: true, mode: 0o700 });
    return await resolvePath(...names);
  }

  /** @throws {Error} if a folder of the path is a link, because the files would be outside the bucket's folder */
  async function resolvePath(...names: string[]): Promise<string> {
    const path = join(await realpath(folder), ...names);
    if ((await realpath(path)) !== path) throw new Error(`${path}: a link in a bucket is not followed`);
    return path;
  }
}

/** Flushes the names in a folder to the disk. Windows does not support this. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}

/** Returns undefined for the error of a missing file or folder. Rethrows every other error. */
export function ignoreMissing(error: unknown): undefined {
  if ((error as { code?: string }).code !== "ENOENT") throw error;
  return undefined;
}

/** Deletes abandoned files and uploads. */
async function sweep(folder: string, now: number): Promise<void> {
  for await (const { name } of await opendir(folder)) {
    const path = join(folder, name);
    const found = await lstat(path).catch(ignoreMissing);
    if (found && found.mtimeMs < now - (found.isDirectory() ? MAX_UPLOAD_AGE_MS : MAX_FILE_AGE_MS))
      await rm(path, { recursive: true, force: true });
  }
}

export function hashName(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
