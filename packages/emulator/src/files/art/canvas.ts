import type { Color } from "./color.js";
import type { Random } from "./noise.js";

/** A picture in the making: three numbers from 0 to 1 for each pixel. */
export interface Canvas {
  readonly width: number;
  readonly height: number;
  readonly pixels: Float32Array;
}

export function createCanvas(width: number, height: number): Canvas {
  return { width, height, pixels: new Float32Array(3 * width * height) };
}

/** Paints a pixel over what is there; `cover` is 0 for nothing and 1 for all of it. */
export function put(
  { width, height, pixels }: Canvas,
  x: number,
  y: number,
  color: Color,
  cover: number,
): void {
  if (x < 0 || y < 0 || x >= width || y >= height || cover <= 0) return;
  const at = 3 * (y * width + x);
  const share = Math.min(1, cover);
  for (let part = 0; part < 3; part++) {
    const before = pixels[at + part] as number;
    pixels[at + part] = before + ((color[part] as number) - before) * share;
  }
}

/** Adds light to a pixel. */
export function shine(
  { width, height, pixels }: Canvas,
  x: number,
  y: number,
  color: Color,
  amount: number,
): void {
  if (x < 0 || y < 0 || x >= width || y >= height) return;
  const at = 3 * (y * width + x);
  for (let part = 0; part < 3; part++) {
    const before = pixels[at + part] as number;
    // light adds up, but never to more than white
    pixels[at + part] = before + (1 - Math.min(1, before)) * (color[part] as number) * amount;
  }
}

/** Adds a round light that fades to its edge. */
export function glow(
  canvas: Canvas,
  x: number,
  y: number,
  radius: number,
  color: Color,
  amount: number,
): void {
  const reach = Math.ceil(radius);
  const [left, top] = [Math.round(x), Math.round(y)];
  for (let dy = -reach; dy <= reach; dy++)
    for (let dx = -reach; dx <= reach; dx++) {
      const away = Math.hypot(left + dx - x, top + dy - y) / radius;
      if (away < 1) shine(canvas, left + dx, top + dy, color, amount * (1 - away) ** 2);
    }
}

/** Fills a horizontal run; its ends may be between two pixels. */
export function run(canvas: Canvas, y: number, from: number, to: number, color: Color, cover = 1): void {
  const first = Math.floor(from);
  const last = Math.floor(to);
  for (let x = first; x <= last; x++) {
    const share = Math.min(x + 1, to) - Math.max(x, from);
    put(canvas, x, y, color, share * cover);
  }
}

/** Mirrors what is above `horizon` into the water below, with ripples. */
export function mirror(
  canvas: Canvas,
  horizon: number,
  water: Color,
  ripple: (x: number, y: number) => number,
): void {
  const { width, height, pixels } = canvas;
  for (let y = horizon; y < height; y++) {
    const depth = (y - horizon) / (height - horizon);
    const dim = 0.12 + 0.38 * depth;
    for (let x = 0; x < width; x++) {
      const wave = ripple(x, y);
      const up = Math.round(horizon - 1 - (y - horizon) * 0.92 - wave * (2 + depth * 0.05 * height));
      const source = 3 * (Math.min(horizon - 1, Math.max(0, up)) * width + x);
      const at = 3 * (y * width + x);
      const light = 1 + wave * 0.1;
      for (let part = 0; part < 3; part++) {
        const seen = pixels[source + part] as number;
        pixels[at + part] = (seen + ((water[part] as number) - seen) * dim) * light;
      }
    }
  }
}

/** Ends a picture: a little contrast, darker corners and grain that hides the steps of gradients. */
export function finish({ width, height, pixels }: Canvas, random: Random): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(3 * width * height);
  const grain = Float32Array.from({ length: 4096 }, () => (random() + random() - 1) * 1.6);
  let next = 0;
  for (let y = 0; y < height; y++) {
    const down = (y / height - 0.5) ** 2;
    for (let x = 0; x < width; x++) {
      const shade = 1 - 0.34 * ((x / width - 0.5) ** 2 + down);
      // steps of 7 and a start per row, so that no pattern shows
      next = (next + 7 + (x & 1)) & 4095;
      const at = 3 * (y * width + x);
      for (let part = 0; part < 3; part++) {
        const value = Math.min(1, Math.max(0, (pixels[at + part] as number) * shade));
        const curved = value + 0.1 * (value * value * (3 - 2 * value) - value);
        bytes[at + part] = Math.min(255, Math.max(0, curved * 255 + 0.5 + (grain[next] as number)));
      }
    }
    next = (next + Math.floor(random() * 4096)) & 4095;
  }
  return bytes;
}
