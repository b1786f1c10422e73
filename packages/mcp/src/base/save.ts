import { createHash } from "node:crypto";
import { rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Client } from "@sluice/core";
import { describeThrown } from "@sluice/core/extend";
import { fetchMedia } from "@sluice/media";
import { makeFolder } from "./make-folder.js";
import type { Content } from "./tool.js";

/** A file of a result. */
export interface Saved {
  readonly link: Content;
  /** Path or URL, with a reason if the file is not saved. */
  readonly text: string;
  /** Path of the file. Absent if the result is only a link. */
  readonly path?: string;
  /** Reason why the file could not be saved. */
  readonly error?: string;
}

/** Options of {@link saveMedia}. */
export interface SaveOptions {
  /** Folder for the files. Undefined returns only links. */
  readonly folder: string | undefined;
  /** Maximum size of a file in bytes. */
  readonly maxBytes: number | undefined;
  readonly signal: AbortSignal;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "video/mp4": "mp4",
  "video/webm": "webm",
};

/**
 * Saves the file at `url` in the folder. A file has its name only when it is complete. The name ends in a hash of the
 * gateway and `name`, so that an existing file is the same file: it is returned, and not downloaded again. If saving
 * fails, the result is the link: the file is paid for, so the call does not fail.
 */
export async function saveMedia(
  client: Client,
  url: string,
  name: string,
  options: SaveOptions,
): Promise<Saved> {
  const { folder, maxBytes, signal } = options;
  const link: Content = { type: "resource_link", uri: url, name };
  if (folder === undefined) return { link, text: `${url} (a link that ends in about a day: save the file)` };
  const hash = createHash("sha256").update(`${client.baseURL}\n${name}`).digest("hex").slice(0, 8);
  const base = resolve(folder, `${name.replace(/[^\w-]/g, "_").slice(0, 100)}-${hash}`);
  try {
    const found = await findSaved(base);
    if (found) return toSaved(found);
    const file = await fetchMedia(client, url, { signal, maxBytes });
    await makeFolder(folder);
    const path = `${base}.${EXTENSIONS[file.type] ?? "bin"}`;
    const temporaryPath = join(resolve(folder), `.${crypto.randomUUID()}.part`);
    await writeFile(temporaryPath, file.stream())
      .then(() => rename(temporaryPath, path))
      .catch(async (error) => {
        await rm(temporaryPath, { force: true });
        throw error;
      });
    return toSaved(path, file.type);
  } catch (cause) {
    const error = describeThrown(cause);
    return { link, text: `${url} (it could not be saved: ${error}. The link ends in about a day)`, error };
  }
}

async function findSaved(base: string): Promise<string | undefined> {
  for (const extension of [...Object.values(EXTENSIONS), "bin"]) {
    const path = `${base}.${extension}`;
    if (await stat(path).catch(() => undefined)) return path;
  }
  return undefined;
}

function toSaved(path: string, mimeType?: string): Saved {
  const uri = pathToFileURL(path).href;
  return {
    link: { type: "resource_link", uri, name: basename(path), ...(mimeType && { mimeType }) },
    text: path,
    path,
  };
}
