import { open, realpath } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { toDataURI } from "@sluice/media";
import { NotSent } from "../base/not-sent.js";
import type { Input } from "../base/tool.js";

/** Maximum size of a file in a request, in bytes. */
const MAX_BYTES = 20_000_000;
/** Fields that may contain the URL of a file. */
const FIELDS = ["url", "URL", "image"];

/**
 * Replaces the `file:` URLs of a request with images from the folder. A model writes these URLs, so no other file of
 * this machine is read: the file must be an image, and no link may lead out of the folder.
 *
 * @throws {NotSent} for any other file
 */
export async function insertFiles(input: Input, folder: string | undefined): Promise<Input> {
  const insert = async (value: unknown, field: string): Promise<unknown> => {
    if (Array.isArray(value)) return Promise.all(value.map((item) => insert(item, field)));
    if (typeof value === "object" && value !== null) {
      const fields = Object.entries(value).map(
        async ([key, item]) => [key, await insert(item, key)] as const,
      );
      return Object.fromEntries(await Promise.all(fields));
    }
    if (typeof value !== "string" || !FIELDS.includes(field) || !/^file:/i.test(value)) return value;
    return readDataURI(value, folder);
  };
  return (await insert(input, "")) as Input;
}

async function readDataURI(address: string, folder: string | undefined): Promise<string> {
  const refuse = (why: string) => new NotSent(`Nothing was sent: ${address} ${why}`);
  if (folder === undefined) throw refuse("can't be read, since this server has no folder. Give a link.");
  const found = await findPath(address, folder).catch(() => undefined);
  if (found === undefined) throw refuse(`is not a file in the folder ${resolve(folder)}.`);
  const file = await open(found);
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > MAX_BYTES)
      throw refuse(`is not a file of at most ${MAX_BYTES} bytes.`);
    const bytes = new Uint8Array(stats.size);
    await file.read(bytes, 0, stats.size, 0);
    const uri = await toDataURI(new Blob([bytes]));
    if (uri.startsWith("data:image/")) return uri;
    throw refuse("is not an image.");
  } finally {
    await file.close();
  }
}

/** Returns the real path of a file in the folder. Returns undefined for a file outside of it. */
async function findPath(address: string, folder: string): Promise<string | undefined> {
  const [path, root] = await Promise.all([realpath(fileURLToPath(address)), realpath(folder)]);
  const fromRoot = relative(root, path);
  const isAbove = fromRoot === ".." || fromRoot.startsWith(`..${sep}`);
  // on another drive of Windows, the relative path is absolute
  const isElsewhere = resolve(fromRoot) === fromRoot;
  return fromRoot === "" || isAbove || isElsewhere ? undefined : path;
}
