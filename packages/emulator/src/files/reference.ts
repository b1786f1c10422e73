import { hash } from "../server/hash.js";
import { formatHSL, formatRGB } from "./color.js";

const MAX_BYTES = 24_000_000;
const BANDS = 3;

/**
 * Finds three colors of a reference image. A PNG is decoded. For any other file, the colors depend on a hash of its
 * bytes.
 */
export async function readColors(url: string): Promise<readonly string[]> {
  const [, data] = /^data:image\/png;base64,(.*)$/is.exec(url) ?? [];
  try {
    if (data !== undefined)
      return await readColorsOfPNG(Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)));
  } catch {
    // a broken file still gets colors
  }
  const hue = Number.parseInt(hash(url.slice(0, 20_000)).slice(0, 4), 16) % 360;
  return [
    formatHSL(hue, 0.55, 0.45),
    formatHSL((hue + 40) % 360, 0.6, 0.6),
    formatHSL((hue + 190) % 360, 0.4, 0.5),
  ];
}

/** Averages the colors of the top, the middle and the bottom of a PNG with 8 bits per channel. */
async function readColorsOfPNG(file: Uint8Array<ArrayBuffer>): Promise<readonly string[]> {
  const view = new DataView(file.buffer);
  const [width, height, depth, type] = [view.getUint32(16), view.getUint32(20), file[24], file[25] ?? 0];
  const channels = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }[type];
  const stride = width * (channels ?? 0) + 1;
  if (!channels || depth !== 8 || file[28] !== 0 || stride * height > MAX_BYTES)
    throw new TypeError("unknown kind of PNG");
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let palette: Uint8Array | undefined;
  for (let at = 8; at + 12 <= file.length; at += 12 + view.getUint32(at)) {
    const name = String.fromCharCode(...file.subarray(at + 4, at + 8));
    const content = file.slice(at + 8, at + 8 + view.getUint32(at));
    if (name === "IDAT") parts.push(content);
    if (name === "PLTE") palette = content;
  }
  const inflated = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate"));
  const rows = new Uint8Array(await new Response(inflated).arrayBuffer());
  restoreRows(rows, stride, channels, height);
  return Array.from({ length: BANDS }, (_, band) =>
    averageColor(rows, band, { width, height, stride, channels, palette }),
  );
}

interface Layout {
  readonly width: number;
  readonly height: number;
  readonly stride: number;
  readonly channels: number;
  readonly palette: Uint8Array | undefined;
}

function averageColor(
  rows: Uint8Array,
  band: number,
  { width, height, stride, channels, palette }: Layout,
): string {
  const sum = [0, 0, 0];
  let count = 0;
  const step = Math.max(1, Math.floor(width / 64));
  for (let y = Math.floor((height * band) / BANDS); y < Math.max(1, (height * (band + 1)) / BANDS); y += step)
    for (let x = 0; x < width; x += step, count++) {
      const at = y * stride + 1 + x * channels;
      for (let part = 0; part < 3; part++)
        sum[part] =
          (sum[part] ?? 0) +
          (palette
            ? (palette[3 * (rows[at] ?? 0) + part] ?? 0)
            : (rows[at + (channels < 3 ? 0 : part)] ?? 0));
    }
  return formatRGB(sum.map((value) => value / Math.max(1, count)));
}

function restoreRows(rows: Uint8Array, stride: number, channels: number, height: number) {
  for (let y = 0; y < height; y++)
    for (let x = 1; x < stride; x++) {
      const at = y * stride + x;
      const left = x > channels ? (rows[at - channels] ?? 0) : 0;
      const up = y > 0 ? (rows[at - stride] ?? 0) : 0;
      const corner = y > 0 && x > channels ? (rows[at - stride - channels] ?? 0) : 0;
      rows[at] = (rows[at] ?? 0) + predict(rows[y * stride] ?? 0, left, up, corner);
    }
}

function predict(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const estimate = left + up - corner;
  const [a, b, c] = [Math.abs(estimate - left), Math.abs(estimate - up), Math.abs(estimate - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
