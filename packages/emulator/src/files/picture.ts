import type { Color } from "./art/color.js";
import { type Painting, paint } from "./art/paint.js";
import type { Bitmap } from "./png.js";

/** Description of a picture. The same description makes the same pixels. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly prompt: string;
  /** Prompt of the picture that this one began with; it decides what `prompt` leaves open. */
  readonly base?: string;
  /** Decides what the prompts leave open. */
  readonly seed: string;
  /** Place in a set, from 0. */
  readonly index: number;
  /** Columns at the right that are painted but not shown: room for a movement. @default 0 */
  readonly extra?: number;
  /** Colors of a reference. */
  readonly palette?: readonly Color[];
}

/** Largest number of pixels that are painted. A larger picture is painted smaller, and stretched. */
const MOST_PIXELS = 400_000;
const MOST_KEPT = 8;

const kept = new Map<string, Painting>();

/** Paints a picture, or returns one of the last eight again. */
export function paintingOf(picture: Picture): Painting {
  const { height, prompt, base, seed, index, extra = 0, palette = [] } = picture;
  const width = picture.width + extra;
  const scale = Math.min(1, Math.sqrt(MOST_PIXELS / (width * height)));
  const size = {
    width: Math.max(1, Math.round(width * scale)),
    height: Math.max(1, Math.round(height * scale)),
  };
  const order = { ...size, prompt, base: base ?? "", seed, index, palette };
  const key = JSON.stringify(order);
  const painting = kept.get(key) ?? paint(order);
  kept.delete(key);
  kept.set(key, painting);
  for (const oldest of kept.keys()) {
    if (kept.size <= MOST_KEPT) break;
    kept.delete(oldest);
  }
  return painting;
}

/** Makes the rows of a picture at its full size. */
export function bitmapOf(picture: Picture): Bitmap {
  const { width, height, extra = 0 } = picture;
  const { width: narrow, height: low, bytes } = paintingOf(picture);
  const places = Float32Array.from({ length: width }, (_, x) =>
    between((x + 0.5) * (narrow / (width + extra)) - 0.5, narrow),
  );
  // the two rows of the painting between which the last row lay
  const stretched = [new Uint8Array(3 * width), new Uint8Array(3 * width)] as const;
  const held: [number, number] = [-1, -1];
  return { width, height, fill };

  function fill(y: number, row: Uint8Array) {
    const place = between((y + 0.5) * (low / height) - 0.5, low);
    const first = Math.floor(place);
    const above = rowOf(first);
    const below = rowOf(Math.min(low - 1, first + 1));
    const share = Math.round((place - first) * 256);
    for (let at = 0; at < row.length; at++) {
      const top = above[at] as number;
      row[at] = top + ((((below[at] as number) - top) * share) >> 8);
    }
  }

  function rowOf(index: number): Uint8Array {
    const slot = index % 2 === 0 ? 0 : 1;
    const row = stretched[slot];
    if (held[slot] === index) return row;
    held[slot] = index;
    for (let x = 0, at = 0; x < width; x++, at += 3) {
      const place = places[x] as number;
      const left = Math.floor(place);
      const share = Math.round((place - left) * 256);
      const from = 3 * (index * narrow + left);
      const to = left + 1 < narrow ? from + 3 : from;
      for (let part = 0; part < 3; part++) {
        const value = bytes[from + part] as number;
        row[at + part] = value + ((((bytes[to + part] as number) - value) * share) >> 8);
      }
    }
    return row;
  }
}

function between(place: number, count: number): number {
  return Math.min(count - 1, Math.max(0, place));
}
