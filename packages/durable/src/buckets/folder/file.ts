import { constants } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";

/** The facts of a file, in front of its bytes: both are there or none. */
export interface Facts {
  readonly key: string;
  readonly etag: string;
  readonly contentType: string;
}

/** A file whose facts are read. Its bytes are read or it is closed. */
export interface OpenFile extends Facts {
  readonly handle: FileHandle;
  /** The size of its content, in bytes. */
  readonly size: number;
}

/** Length of the facts, in bytes: a block of most disks. */
const FACTS_BYTES = 4096;
/** Bytes that are read at a time. */
const PIECE_BYTES = 65_536;
/** A link in the place of a file is never followed. Windows has no such flag. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);

/** Writes a file to the disk, under a name that nobody has. What fails leaves nothing. */
export async function writeFile(
  path: string,
  facts: Facts,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const head = Buffer.from(JSON.stringify(facts));
  if (head.byteLength >= FACTS_BYTES) throw new TypeError("a file can't have so long a name or type");
  const handle = await open(path, "wx", 0o600);
  try {
    await handle.writeFile(Buffer.concat([head, Buffer.alloc(FACTS_BYTES - head.byteLength, " ")]));
    await handle.writeFile(content);
    await handle.sync();
    await handle.close();
  } catch (error) {
    await handle.close().catch(() => {});
    await rm(path, { force: true });
    throw error;
  }
}

/** @throws {Error} where it is missing, is a link, or was not written by {@link writeFile} */
export async function openFile(path: string): Promise<OpenFile> {
  const handle = await open(path, READ);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(FACTS_BYTES), 0, FACTS_BYTES, 0);
    if (bytesRead < FACTS_BYTES) throw new Error(`${path}: no file of a bucket`);
    const { key, etag, contentType } = JSON.parse(buffer.toString()) as Facts;
    const { size } = await handle.stat();
    return { key, etag, contentType, handle, size: size - FACTS_BYTES };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Reads the content of a file, from its `first` byte to its `last` one, and closes it. A piece is read when it is asked for. */
export function readFile(
  { handle, size }: OpenFile,
  first = 0,
  last = size - 1,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = first;
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(stream) {
        try {
          const piece = new Uint8Array(Math.max(0, Math.min(PIECE_BYTES, last + 1 - at)));
          const { bytesRead } = await handle.read(piece, 0, piece.byteLength, FACTS_BYTES + at);
          if (bytesRead === 0 && at <= last) throw new Error("a file of the bucket is shorter than it was");
          if (bytesRead > 0) stream.enqueue(piece.subarray(0, bytesRead));
          at += bytesRead;
        } catch (error) {
          await handle.close();
          throw error;
        }
        if (at <= last) return;
        await handle.close();
        stream.close();
      },
      cancel: () => handle.close(),
    },
    { highWaterMark: 0 },
  );
}
