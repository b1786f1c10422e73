import type { Bytes } from "../server/http.js";
import type { Bitmap } from "./media.js";

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const BIT_DEPTH = 8;
const TRUE_COLOR = 2;
/** Filter of a row: each byte is the difference from the byte above. */
const FILTER_UP = 2;
/** Bytes of rows that are compressed at once. */
const BATCH_BYTES = 262_144;

const crcTable = Uint32Array.from({ length: 256 }, (_, start) => {
  let value = start;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/**
 * Encodes a PNG. Draws rows during compression, so that a large image needs little memory.
 *
 * @param description text stored in the file but not drawn
 */
export async function writePNG(bitmap: Bitmap, description: string): Promise<Blob> {
  const { width, height } = bitmap;
  const compressed = encodeRows(bitmap).pipeThrough(new CompressionStream("deflate"));
  const pieces = [
    SIGNATURE,
    encodeChunk(
      "IHDR",
      Uint8Array.of(...encodeNumber(width), ...encodeNumber(height), BIT_DEPTH, TRUE_COLOR, 0, 0, 0),
    ),
    encodeChunk("iTXt", encodeText("Software", "Sluice emulator")),
    encodeChunk("iTXt", encodeText("Description", description)),
    encodeChunk("IDAT", new Uint8Array(await new Response(compressed).arrayBuffer())),
    encodeChunk("IEND", new Uint8Array()),
  ];
  return new Blob(pieces, { type: "image/png" });
}

/** Encodes the rows: each begins with the number of its filter. */
function encodeRows({ width, height, fill }: Bitmap): ReadableStream<Bytes> {
  const length = 3 * width;
  const rowsAtOnce = Math.ceil(BATCH_BYTES / (length + 1));
  let [row, above] = [new Uint8Array(length), new Uint8Array(length)];
  let y = 0;
  return new ReadableStream({
    pull(controller) {
      const batch = new Uint8Array(Math.min(rowsAtOnce, height - y) * (length + 1));
      for (let position = 0; position < batch.length; y++) {
        fill(y, row);
        batch[position++] = FILTER_UP;
        for (let index = 0; index < length; index++)
          batch[position++] = (row[index] as number) - (above[index] as number);
        [row, above] = [above, row];
      }
      controller.enqueue(batch);
      if (y >= height) controller.close();
    },
  });
}

/** Creates the content of a text chunk: a keyword, three empty fields, and the text in UTF-8. */
function encodeText(keyword: string, text: string): Bytes {
  return new TextEncoder().encode(`${keyword}\0\0\0\0\0${text.replaceAll("\0", "")}`);
}

function encodeChunk(type: string, content: Bytes): Bytes {
  const bytes = new Uint8Array(12 + content.length);
  bytes.set(encodeNumber(content.length));
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(content, 8);
  bytes.set(encodeNumber(computeCRC(bytes.subarray(4, -4))), 8 + content.length);
  return bytes;
}

function computeCRC(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) value = (crcTable[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
  return value ^ 0xffffffff;
}

/** Encodes a number as four big-endian bytes. */
function encodeNumber(number: number): number[] {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff);
}
