import { Buffer } from "node:buffer";
import { type FileHandle, open } from "node:fs/promises";

/** One line of a journal, as JSON. */
export type Line = Readonly<Record<string, unknown>>;

/** A file of lines that only grows. Several processes may append to it and read it. */
export interface Journal {
  /** Appends a line, and returns when the disk has it. */
  append(line: Line): Promise<void>;
  /**
   * Reads the lines since the last call, those of other processes included. A line that is broken is left out. Calls that
   * wait for their turn together share one reading, by the first one's `take`. Rejects if the file is not a journal.
   */
  readNew(take: (line: Line) => void): Promise<void>;
  /** Time of the last change by anyone; Unix milliseconds. */
  changedAt(): Promise<number>;
  /** Changes that time: a sign of life. */
  touch(): Promise<void>;
}

/** Beginnings of the lines of a journal. A process that is killed leaves a part of such a line. */
const BEGINNINGS = ['{"collection":"', '{"lock":"'];
/** Bytes that are read at once. */
const READ_BYTES = 1 << 20;
const NEWLINE = 10;

/** Opens a journal; creates its file with the first line, or the first read. */
export function openJournal(path: string): Journal {
  const decoder = new TextDecoder();
  /** Bytes that were read, up to the end of a line. */
  let offset = 0;
  /** Number of the file on its disk. */
  let inode: number | undefined;
  /** Appends and reads of this process, one after the other. */
  let last: Promise<unknown> = Promise.resolve();
  /** Lines that the next write has. */
  let due: string[] = [];
  let writing: Promise<void> | undefined;
  let reading: Promise<void> | undefined;
  /** Number of whole lines of this journal, less the number of lines that are of something else. */
  let balance = 0;
  return {
    append(line) {
      due.push(`${JSON.stringify(line)}\n`);
      // lines that come while others are written go together: the wait for the disk is what takes time
      writing ??= untilRefused(
        inTurn((file) => {
          const lines = due.join("");
          due = [];
          writing = undefined;
          return append(file, lines);
        }),
      );
      return writing;
    },
    readNew(take) {
      reading ??= untilRefused(
        inTurn((file) => {
          reading = undefined;
          return readNew(file, take);
        }),
      );
      return reading;
    },
    changedAt: () => inTurn(async (file) => (await file.stat()).mtimeMs),
    touch: () => inTurn((file) => file.utimes(new Date(), new Date())),
  };

  /** Forgets an act whose file could not be opened: it may be there the next time. Its callers get the error. */
  function untilRefused(act: Promise<void>): Promise<void> {
    act.catch(() => {
      if (writing === act) {
        writing = undefined;
        due = [];
      }
      if (reading === act) reading = undefined;
    });
    return act;
  }

  function inTurn<T>(act: (file: FileHandle) => Promise<T>): Promise<T> {
    const acted = last.then(async () => {
      // with "a" each write goes to the end, also where other processes write
      const file = await open(path, "a+");
      return assertSame(file)
        .then(() => act(file))
        .finally(() => file.close());
    });
    last = acted.catch(() => {});
    return acted;
  }

  /** A file that was deleted or emptied has lost records that this process knows, and perhaps its lock. */
  async function assertSame(file: FileHandle): Promise<void> {
    const { ino, size } = await file.stat();
    inode ??= ino;
    if (ino !== inode || size < offset)
      throw new Error(`${path} was deleted or emptied while it was in use: start the program again`);
  }

  async function append(file: FileHandle, lines: string): Promise<void> {
    const { size } = await file.stat();
    // the line of a process that was killed in the middle of it must not take this one with it
    const isBroken = size > 0 && (await byteAt(file, size - 1)) !== NEWLINE;
    const bytes = Buffer.from(`${isBroken ? "\n" : ""}${lines}`);
    const { bytesWritten } = await file.write(bytes);
    if (bytesWritten < bytes.length) throw new Error(`${path}: there is no space for the record`);
    await file.datasync();
  }

  async function readNew(file: FileHandle, take: (line: Line) => void): Promise<void> {
    let rest: Uint8Array[] = [];
    for (let at = offset; ; ) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES, at);
      if (bytesRead === 0) return assertJournal(decoder.decode(Buffer.concat(rest)));
      at += bytesRead;
      const end = buffer.subarray(0, bytesRead).lastIndexOf(NEWLINE);
      if (end === -1) {
        rest.push(buffer.subarray(0, bytesRead));
        continue;
      }
      const whole = Buffer.concat([...rest, buffer.subarray(0, end)]);
      offset += whole.length + 1;
      rest = [buffer.subarray(end + 1, bytesRead)];
      for (const text of decoder.decode(whole).split("\n")) {
        const line = lineIn(text);
        balance += line ? 1 : isPartOfLine(text) ? 0 : -1;
        if (line) take(line);
      }
    }
  }

  /**
   * Refuses a file that is not a journal, or not any more: what is stored in it would count as not done, and its content
   * may be of worth to the user. Single lines may be damaged.
   */
  function assertJournal(tail: string): void {
    if (balance - (isPartOfLine(tail) ? 0 : 1) >= 0) return;
    throw new Error(
      `${path} is not a file of fileStorage(), or can't be read as one: it was compressed, saved in another encoding, or ` +
        "belongs to something else. Nothing was written to it. Restore it as UTF-8 text, or give the path of a new file",
    );
  }
}

async function byteAt(file: FileHandle, at: number): Promise<number | undefined> {
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, at);
  return buffer[0];
}

function lineIn(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Line | null;
    return typeof line?.collection === "string" || typeof line?.lock === "string" ? line : undefined;
  } catch {
    // a line that was cut off, or is empty
    return undefined;
  }
}

/** Checks for what a kill or a power failure leaves: the beginning of a line, or zeros. */
function isPartOfLine(text: string): boolean {
  const part = text.replace(/^[\0\s]+/, "");
  return BEGINNINGS.some((begin) => part.startsWith(begin) || begin.startsWith(part));
}
