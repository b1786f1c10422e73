import type { Bytes } from "../server/http.js";

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

const node = globalThis.process?.getBuiltinModule;
const [zlib, stream] = [node?.("node:zlib"), node?.("node:stream")];

const crcTable = Uint32Array.from({ length: 256 }, (_, start) => {
  let value = start;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/**
 * Writes a PNG file in pieces. Rows are made when they are read, so that a large picture needs little memory.
 *
 * @param description text that the file carries but does not show
 */
export async function* writePNG(bitmap: Bitmap, description: string): AsyncGenerator<Bytes> {
  const { width, height } = bitmap;
  yield Uint8Array.from(SIGNATURE);
  yield chunk("IHDR", Uint8Array.from([...big(width), ...big(height), BIT_DEPTH, TRUE_COLOUR, 0, 0, 0]));
  yield chunk("iTXt", textOf("Software", "Sluice emulator"));
  yield chunk("iTXt", textOf("Description", description));
  const compressed = rowsOf(bitmap).pipeThrough(createCompression()).getReader();
  try {
    for (;;) {
      const { done, value } = await compressed.read();
      if (done) break;
      yield chunk("IDAT", value);
    }
  } finally {
    // a reader that has left needs no more rows
    await compressed.cancel();
  }
  yield chunk("IEND", new Uint8Array());
}

/**
 * Creates a compression to the format of zlib. Where Node's module is there, it looks for runs of one byte only: the
 * differences of painted rows have little else, and it takes a sixth of the time.
 */
function createCompression(): ReadableWritablePair<Bytes, Bytes> {
  if (!zlib || !stream?.Duplex.toWeb) return new CompressionStream("deflate");
  const options = { strategy: zlib.constants.Z_RLE, chunkSize: BATCH };
  return stream.Duplex.toWeb(zlib.createDeflate(options)) as ReadableWritablePair<Bytes, Bytes>;
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
  bytes.set(big(crc(bytes.subarray(4, -4))), 8 + content.length);
  return bytes;
}

function crc(bytes: Uint8Array): number {
  const native = zlib?.crc32;
  if (native) return native(bytes);
  let value = 0xffffffff;
  for (const byte of bytes) value = (crcTable[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
  return value ^ 0xffffffff;
}

/** Encodes a number as four bytes, the highest first. */
function big(number: number): number[] {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff);
}
