import type { EmulatorOptions } from "@sluice/emulator";
import { parseHex } from "./art/color.ts";
import { type Painting, paint } from "./art/paint.ts";

type Media = NonNullable<EmulatorOptions["media"]>;
type Bitmap = Extract<Awaited<ReturnType<NonNullable<Media["image"]>>>, { fill: unknown }>;
/** Description of an image. Equal descriptions have equal pixels. */
export type ImageInput = Parameters<NonNullable<Media["image"]>>[0];

/** Maximum number of painted pixels. A larger image is painted smaller, and stretched. */
const MAX_PIXELS = 150_000;
const MAX_CACHED = 8;
/** Mask of every other byte of a word. */
const EVEN = 0x00ff00ff;

const cached = new Map<string, Painting>();

/** Paints an image, or returns one of the last eight again. */
function getPainting({ width, height, prompt, base, seed, index, colors = [] }: ImageInput): Painting {
  const scale = Math.min(1, Math.sqrt(MAX_PIXELS / (width * height)));
  const size = {
    width: Math.max(1, Math.round(width * scale)),
    height: Math.max(1, Math.round(height * scale)),
  };
  const request = { ...size, prompt, base: base ?? "", seed, index, palette: colors.map(parseHex) };
  const key = JSON.stringify(request);
  const painting = cached.get(key) ?? paint(request);
  cached.delete(key);
  cached.set(key, painting);
  for (const oldest of cached.keys()) {
    if (cached.size <= MAX_CACHED) break;
    cached.delete(oldest);
  }
  return painting;
}

/** Makes the rows of an image at its full size. */
export function createBitmap(image: ImageInput): Bitmap {
  const { width, height } = image;
  const { width: narrow, height: low, bytes } = getPainting(image);
  const columns = listPositions(width, narrow / width, narrow);
  const lines = listPositions(height, low / height, low);
  // the rows of the painting above and below the last row, and the last row
  const [one, other, mixed] = [createRow(width), createRow(width), createRow(width)] as const;
  const held: [number, number] = [-1, -1];
  return { width, height, fill };

  function fill(y: number, row: Uint8Array) {
    const first = lines.first[y] as number;
    const share = lines.share[y] as number;
    const above = getRow(first).words;
    const below = getRow(Math.min(low - 1, first + 1)).words;
    // mixes four bytes at once: first the even ones, then the odd ones
    for (let at = 0; at < above.length; at++) {
      const [top, bottom] = [above[at] as number, below[at] as number];
      const even = (Math.imul(top & EVEN, 256 - share) + Math.imul(bottom & EVEN, share)) | 0;
      const odd = (Math.imul((top >>> 8) & EVEN, 256 - share) + Math.imul((bottom >>> 8) & EVEN, share)) | 0;
      mixed.words[at] = ((even >>> 8) & EVEN) | (odd & ~EVEN);
    }
    row.set(mixed.bytes);
  }

  function getRow(index: number): Row {
    const slot = index % 2 === 0 ? 0 : 1;
    const row = slot === 0 ? one : other;
    if (held[slot] === index) return row;
    held[slot] = index;
    const start = 3 * index * narrow;
    const last = start + 3 * (narrow - 1);
    for (let x = 0, at = 0; x < width; x++, at += 3) {
      const from = start + 3 * (columns.first[x] as number);
      const to = Math.min(last, from + 3);
      const share = columns.share[x] as number;
      for (let part = 0; part < 3; part++) {
        const value = bytes[from + part] as number;
        row.bytes[at + part] = value + ((((bytes[to + part] as number) - value) * share) >> 8);
      }
    }
    return row;
  }
}

type Row = ReturnType<typeof createRow>;

/** Creates a row of pixels that can be read as words of four bytes. */
function createRow(width: number) {
  const words = new Int32Array(Math.ceil((3 * width) / 4));
  return { words, bytes: new Uint8Array(words.buffer, 0, 3 * width) };
}

/** Finds for each of `count` pixels the pixel of the painting before it, and the share of the next one, in 256ths. */
function listPositions(count: number, step: number, length: number) {
  const first = new Int32Array(count);
  const share = new Int32Array(count);
  for (let at = 0; at < count; at++) {
    const position = Math.min(length - 1, Math.max(0, (at + 0.5) * step - 0.5));
    first[at] = Math.floor(position);
    share[at] = Math.round((position - Math.floor(position)) * 256);
  }
  return { first, share };
}
