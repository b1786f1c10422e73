import { open, realpath } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { toDataURI } from "@sluice/media";
import { NotSent } from "../base/not-sent.js";
import type { Input } from "../base/tool.js";

/** Largest file that a request takes, in bytes. */
const MAX_BYTES = 20_000_000;
/** Fields that have the address of a file. */
const FIELDS = ["url", "URL", "image"];

/**
 * Puts pictures of the folder into a request, in the place of their `file:` addresses. A model writes the addresses, so
 * that no other file of this machine is read: no link in the folder leads out of it, and it has to be a picture.
 *
 * @throws {NotSent} for any other file
 */
export async function withFiles(input: Input, folder: string | undefined): Promise<Input> {
  const read = async (value: unknown, field: string): Promise<unknown> => {
    if (Array.isArray(value)) return Promise.all(value.map((item) => read(item, field)));
    if (typeof value === "object" && value !== null) {
      const fields = Object.entries(value).map(async ([key, one]) => [key, await read(one, key)] as const);
      return Object.fromEntries(await Promise.all(fields));
    }
    if (typeof value !== "string" || !FIELDS.includes(field) || !/^file:/i.test(value)) return value;
    return dataURIOf(value, folder);
  };
  return (await read(input, "")) as Input;
}

async function dataURIOf(address: string, folder: string | undefined): Promise<string> {
  const refuse = (why: string) => new NotSent(`Nothing was sent: ${address} ${why}`);
  if (folder === undefined) throw refuse("can't be read, since this server has no folder. Give a link.");
  const found = await pathOf(address, folder).catch(() => undefined);
  if (found === undefined) throw refuse(`is no file in the folder ${resolve(folder)}.`);
  const file = await open(found);
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > MAX_BYTES) throw refuse(`is no file of at most ${MAX_BYTES} bytes.`);
    const bytes = new Uint8Array(stats.size);
    await file.read(bytes, 0, stats.size, 0);
    const uri = await toDataURI(new Blob([bytes]));
    if (uri.startsWith("data:image/")) return uri;
    throw refuse("is no picture.");
  } finally {
    await file.close();
  }
}

/** Returns the real path of a file in the folder; undefined for one outside of it. */
async function pathOf(address: string, folder: string): Promise<string | undefined> {
  const [path, root] = await Promise.all([realpath(fileURLToPath(address)), realpath(folder)]);
  const inside = relative(root, path);
  return inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || resolve(inside) === inside
    ? undefined
    : path;
}
