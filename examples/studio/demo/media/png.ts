import { crc32, createDeflation } from "#demo/deflate";

type Bytes = Uint8Array<ArrayBuffer>;

/** A picture whose rows are made when they are read. */
export interface Bitmap {
  readonly width: number;
  readonly height: number;
  /** Writes red, green and blue of each pixel of row `y`. */
  readonly fill: (y: number, row: Uint8Array) => void;
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const BIT_DEPTH = 8;
const TRUE_COLOUR = 2;
const CHANNELS = 3;
const FILTER_UP = 2;
/** Bytes that are compressed at once: each change between the threads takes longer than a few rows. */
const BATCH = 262_144;
/** The highest bit of each byte of a word. */
const HIGH = 0x80808080 | 0;

/**
 * Writes a PNG. Rows are made while they are compressed, so that a large picture needs little memory.
 *
 * @param description text that the file carries but does not show
 */
export async function writePNG(bitmap: Bitmap, description: string): Promise<Blob> {
  const { width, height } = bitmap;
  const pieces = [
    Uint8Array.from(SIGNATURE),
    chunk("IHDR", Uint8Array.from([...big(width), ...big(height), BIT_DEPTH, TRUE_COLOUR, 0, 0, 0])),
    chunk("iTXt", textOf("Software", "Sluice studio demo")),
    chunk("iTXt", textOf("Description", description)),
  ];
  for await (const piece of rowsOf(bitmap).pipeThrough(createDeflation(BATCH)))
    pieces.push(chunk("IDAT", piece));
  return new Blob([...pieces, chunk("IEND", new Uint8Array())], { type: "image/png" });
}

/** Encodes the rows: the number of the filter, then the difference of each pixel from the one above it. */
function rowsOf({ width, height, fill }: Bitmap): ReadableStream<Bytes> {
  const length = width * CHANNELS;
  const words = new Int32Array(Math.ceil(length / 4));
  const row = new Uint8Array(words.buffer, 0, length);
  const aboveWords = new Int32Array(words.length);
  const changes = new Int32Array(words.length);
  const changedBytes = new Uint8Array(changes.buffer, 0, length);
  const rowsAtOnce = Math.max(1, Math.floor(BATCH / (length + 1)));
  let y = 0;
  return new ReadableStream(
    {
      pull(controller) {
        const batch = new Uint8Array(Math.min(rowsAtOnce, height - y) * (length + 1));
        for (let at = 0; at < batch.length; at += length + 1, y++) {
          fill(y, row);
          batch[at] = FILTER_UP;
          writeChanges(changes, words, aboveWords);
          batch.set(changedBytes, at + 1);
        }
        controller.enqueue(batch);
        if (y >= height) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * Writes the differences of four bytes at once: no byte borrows from the next one. A function of its own, because V8
 * left the optimized code of a loop inside the reading at the end of each row.
 */
function writeChanges(changes: Int32Array, row: Int32Array, above: Int32Array): void {
  for (let at = 0; at < row.length; at++) {
    const value = row[at] as number;
    const before = above[at] as number;
    changes[at] = ((value | HIGH) - (before & ~HIGH)) ^ ((value ^ ~before) & HIGH);
    above[at] = value;
  }
}

/** Makes the content of a text chunk: a keyword, three empty fields, and the text in UTF-8. */
function textOf(keyword: string, text: string): Uint8Array {
  return new TextEncoder().encode(`${keyword}\0\0\0\0\0${text.replaceAll("\0", "")}`);
}

function chunk(type: string, content: Uint8Array): Bytes {
  const bytes = new Uint8Array(12 + content.length);
  bytes.set(big(content.length));
  bytes.set(
    [...type].map((letter) => letter.charCodeAt(0)),
    4,
  );
  bytes.set(content, 8);
  bytes.set(big(crc32(bytes.subarray(4, -4))), 8 + content.length);
  return bytes;
}

/** Encodes a number as four bytes, the highest first. */
function big(number: number): number[] {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff);
}
