import { createHash } from "node:crypto";
import { lstat, mkdir, open, opendir, realpath, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { logError } from "@sluice/worker-proxy/plugin";

/** Pause between two looks for what crashes have left behind. */
const SWEEP_MS = 3_600_000;
/** Age of a file that nobody writes any more: what is written changes all the time. */
const FILE_MS = 86_400_000;
/** Age of an upload that nobody goes on with, since its last part: R2 ends it then, too. */
const UPLOAD_MS = 7 * 86_400_000;

/** The name of a file: the hash of the one that it was given. */
const NAME = /^[\da-f]{64}$/;

/**
 * The places of a bucket in its folder. `files` has what is whole, under the hash of its name, so that no name leads
 * elsewhere, and two that differ in case alone are two files on every disk. `unfinished` has what is being written.
 */
export function openPlaces(folder: string) {
  let sweptAt = Number.NEGATIVE_INFINITY;
  return { fileOf, unfinished, named, removed, namesAfter };

  /** @throws {Error} with the code `ENOENT` where no such file was ever made */
  async function fileOf(key: string): Promise<string> {
    const name = hashOf(key);
    return join(await really("files", name.slice(0, 2)), name);
  }

  /** The place of what is being written. */
  async function unfinished(): Promise<string> {
    const place = await made("unfinished");
    const now = Date.now();
    if (now < sweptAt + SWEEP_MS) return place;
    sweptAt = now;
    await sweep(place, now).catch((error) =>
      logError(`folderBucket: old files could not be deleted: ${error}`),
    );
    return place;
  }

  /** Gives a file its name, in place of an earlier one. */
  async function named(path: string, key: string): Promise<void> {
    const name = hashOf(key);
    try {
      const place = await made("files", name.slice(0, 2));
      await rename(path, join(place, name));
      await onDisk(place);
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  /** Deletes files by their names. One that is gone already is no fault. */
  async function removed(keys: readonly string[]): Promise<void> {
    const places = new Set<string>();
    for (const key of keys) {
      const path = await fileOf(key).catch(missing);
      if (path === undefined) continue;
      await rm(path, { force: true });
      places.add(dirname(path));
    }
    for (const place of places) await onDisk(place);
  }

  /** Returns the paths of up to `most` files whose hashes come after another one, in their order. */
  async function namesAfter(after: string, most: number): Promise<readonly string[]> {
    const found: string[] = [];
    for (let at = Number.parseInt(after.slice(0, 2), 16) || 0; at < 256 && found.length < most; at += 1) {
      const place = await really("files", at.toString(16).padStart(2, "0")).catch(missing);
      if (place === undefined) continue;
      const names = await firstIn(place, after, most - found.length);
      found.push(...names.map((name) => join(place, name)));
    }
    return found;
  }

  async function made(...names: string[]): Promise<string> {
    await mkdir(join(folder, ...names), { recursive: true, mode: 0o700 });
    return await really(...names);
  }

  /** @throws {Error} where a part of it is a link: its files would be elsewhere. The folder itself may be one. */
  async function really(...names: string[]): Promise<string> {
    const path = join(await realpath(folder), ...names);
    if ((await realpath(path)) !== path) throw new Error(`${path}: a link in a bucket is not followed`);
    return path;
  }
}

/** Returns the hash of a file from its path: the cursor behind it. */
export const cursorAt = (path: string): string => basename(path);

/** Waits until the names in a folder are on the disk. Windows can't, and does it itself. */
export async function onDisk(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}

/**
 * Returns undefined for a file or a folder that is not there.
 *
 * @throws {unknown} every other error
 */
export function missing(error: unknown): undefined {
  if ((error as { code?: string }).code !== "ENOENT") throw error;
  return undefined;
}

/** Finds the first names of a folder behind another one. It holds twice as many at most, however many there are. */
async function firstIn(place: string, after: string, most: number): Promise<readonly string[]> {
  let names: string[] = [];
  for await (const { name } of await opendir(place)) {
    if (name > after && NAME.test(name)) names.push(name);
    if (names.length >= 2 * most) names = names.sort().slice(0, most);
  }
  return names.sort().slice(0, most);
}

async function sweep(place: string, now: number): Promise<void> {
  for await (const { name } of await opendir(place)) {
    const path = join(place, name);
    const found = await lstat(path).catch(missing);
    if (found && found.mtimeMs < now - (found.isDirectory() ? UPLOAD_MS : FILE_MS))
      await rm(path, { recursive: true, force: true });
  }
}

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
