import { Buffer } from "node:buffer";
import { type FileHandle, open } from "node:fs/promises";

/** One line of a journal, as JSON. */
export type Line = Readonly<Record<string, unknown>>;

/** Prefixes of the lines of a journal. A killed process may leave an incomplete line. */
const PREFIXES = ['{"collection":"', '{"lock":"'];
/** Number of bytes per read. */
const READ_BYTES = 1 << 20;
const NEWLINE = 10;

/** An append-only file of lines. Several processes may append to it and read it. */
export type Journal = ReturnType<typeof openJournal>;

/** Opens a journal. The first append or read creates the file. */
export function openJournal(path: string) {
  const decoder = new TextDecoder();
  /** Number of bytes that were read, up to the end of a line. */
  let offset = 0;
  /** Inode of the file. */
  let inode: number | undefined;
  /** The last append or read of this process. They run one after the other. */
  let lastOperation: Promise<unknown> = Promise.resolve();
  /** Lines of the next write. */
  let dueLines: string[] = [];
  let writing: Promise<void> | undefined;
  let reading: Promise<void> | undefined;
  /** Number of valid lines minus the number of lines with other content. */
  let balance = 0;
  return {
    /** Appends a line. Resolves when the line is on the disk. */
    append(line: Line): Promise<void> {
      dueLines.push(`${JSON.stringify(line)}\n`);
      // lines that arrive during a write share the next write, because the wait for the disk is slow
      writing ??= forgetIfFailed(
        runInTurn((file) => {
          const lines = dueLines.join("");
          dueLines = [];
          writing = undefined;
          return append(file, lines);
        }),
      );
      return writing;
    },
    /**
     * Reads all new lines since the last call, including lines of other processes. Omits invalid lines. Calls that wait at
     * the same time share one read, which calls only the first `onLine`. Rejects if the file is not a journal.
     */
    readNew(onLine: (line: Line) => void): Promise<void> {
      reading ??= forgetIfFailed(
        runInTurn((file) => {
          reading = undefined;
          return readNew(file, onLine);
        }),
      );
      return reading;
    },
    /** Returns the time of the last change by any process; Unix milliseconds. */
    readChangeTime: () => runInTurn(async (file) => (await file.stat()).mtimeMs),
    /** Sets that time to now, as a heartbeat. */
    touch: () => runInTurn((file) => file.utimes(new Date(), new Date())),
  };

  /** Forgets an append or read that failed, so that the next call tries again. */
  function forgetIfFailed(operation: Promise<void>): Promise<void> {
    operation.catch(() => {
      if (writing === operation) {
        writing = undefined;
        dueLines = [];
      }
      if (reading === operation) reading = undefined;
    });
    return operation;
  }

  function runInTurn<T>(act: (file: FileHandle) => Promise<T>): Promise<T> {
    const result = lastOperation.then(async () => {
      // "a" appends each write to the end, even if other processes write
      const file = await open(path, "a+");
      return assertSame(file)
        .then(() => act(file))
        .finally(() => file.close());
    });
    lastOperation = result.catch(() => {});
    return result;
  }

  /** Checks that the file was not deleted or emptied, because records and locks of this process would be lost. */
  async function assertSame(file: FileHandle): Promise<void> {
    const { ino, size } = await file.stat();
    inode ??= ino;
    if (ino !== inode || size < offset)
      throw new Error(`${path} was deleted or emptied while it was in use: start the program again`);
  }

  async function append(file: FileHandle, lines: string): Promise<void> {
    const { size } = await file.stat();
    // the incomplete line of a killed process must not damage this line
    const isBroken = size > 0 && (await readByte(file, size - 1)) !== NEWLINE;
    const bytes = Buffer.from(`${isBroken ? "\n" : ""}${lines}`);
    const { bytesWritten } = await file.write(bytes);
    if (bytesWritten < bytes.length) throw new Error(`${path}: there is no space for the record`);
    await file.datasync();
  }

  async function readNew(file: FileHandle, onLine: (line: Line) => void): Promise<void> {
    let rest: Uint8Array[] = [];
    for (let position = offset; ; ) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES, position);
      if (bytesRead === 0) return assertJournal(decoder.decode(Buffer.concat(rest)));
      position += bytesRead;
      const end = buffer.subarray(0, bytesRead).lastIndexOf(NEWLINE);
      if (end === -1) {
        rest.push(buffer.subarray(0, bytesRead));
        continue;
      }
      const complete = Buffer.concat([...rest, buffer.subarray(0, end)]);
      offset += complete.length + 1;
      rest = [buffer.subarray(end + 1, bytesRead)];
      for (const text of decoder.decode(complete).split("\n")) {
        const line = parseLine(text);
        balance += line ? 1 : isPartOfLine(text) ? 0 : -1;
        if (line) onLine(line);
      }
    }
  }

  /**
   * Checks that most lines are valid. Otherwise the file is not a journal, or no longer: its records would count as missing,
   * and a write could damage other content of the user. Single lines may be damaged.
   */
  function assertJournal(tail: string): void {
    if (balance - (isPartOfLine(tail) ? 0 : 1) >= 0) return;
    throw new Error(
      `${path} is not a file of fileStorage(), or can't be read as one: it was compressed, saved in another encoding, or ` +
        "belongs to something else. Nothing was written to it. Restore it as UTF-8 text, or give the path of a new file",
    );
  }
}

async function readByte(file: FileHandle, position: number): Promise<number | undefined> {
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, position);
  return buffer[0];
}

function parseLine(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Line | null;
    return typeof line?.collection === "string" || typeof line?.lock === "string" ? line : undefined;
  } catch {
    // an incomplete or empty line
    return undefined;
  }
}

/** Returns true for the remains of a kill or a power failure: the beginning of a line, or zeros. */
function isPartOfLine(text: string): boolean {
  const part = text.replace(/^[\0\s]+/, "");
  return PREFIXES.some((prefix) => part.startsWith(prefix) || prefix.startsWith(part));
}
