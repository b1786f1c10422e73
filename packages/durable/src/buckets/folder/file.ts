import { constants } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import type { Readable } from "node:stream";

/** Metadata of a file. It is stored before the content in the same file, so neither exists without the other. */
export interface Metadata {
  readonly key: string;
  readonly etag: string;
  readonly contentType: string;
}

/** An open file. The caller must read or close it. */
export interface OpenFile extends Metadata {
  readonly handle: FileHandle;
  /** The size of its content, in bytes. */
  readonly size: number;
}

/** Size of the metadata, in bytes: the block size of most disks. */
const METADATA_BYTES = 4096;
/** Refuses symbolic links. Windows does not support this flag. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);

/** Writes a new file to the disk. A failed write leaves no file. */
export async function writeFile(
  path: string,
  metadata: Metadata,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const head = Buffer.from(JSON.stringify(metadata));
  if (head.byteLength >= METADATA_BYTES) throw new TypeError("a file can't have so long a name or type");
  const handle = await open(path, "wx", 0o600);
  try {
    await handle.writeFile(Buffer.concat([head, Buffer.alloc(METADATA_BYTES - head.byteLength, " ")]));
    await handle.writeFile(content);
    await handle.sync();
    await handle.close();
  } catch (error) {
    await handle.close().catch(() => {});
    await rm(path, { force: true });
    throw error;
  }
}

/** @throws {Error} for a file that is missing, is a link, or was not written by {@link writeFile} */
export async function openFile(path: string): Promise<OpenFile> {
  const handle = await open(path, OPEN_FLAGS);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(METADATA_BYTES), 0, METADATA_BYTES, 0);
    if (bytesRead < METADATA_BYTES) throw new Error(`${path}: not a file of a bucket`);
    const { key, etag, contentType } = JSON.parse(buffer.toString()) as Metadata;
    const { size } = await handle.stat();
    return { key, etag, contentType, handle, size: size - METADATA_BYTES };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Streams a file from byte `first` to byte `last`, and closes it. */
export function readFile({ handle, size }: OpenFile, first = 0, last = size - 1): Readable {
  // Node rejects the range of an empty file: read from its end
  if (last < first) return handle.createReadStream({ start: METADATA_BYTES + size });
  return handle.createReadStream({ start: METADATA_BYTES + first, end: METADATA_BYTES + last });
}
