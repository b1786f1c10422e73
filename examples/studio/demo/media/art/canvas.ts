import type { Color } from "./color.ts";
import type { Random } from "./noise.ts";

/** An unfinished image: three numbers from 0 to 1 for each pixel. */
export interface Canvas {
  readonly width: number;
  readonly height: number;
  readonly pixels: Float32Array;
}

/** Memory of the last canvas. One image is painted at a time. */
let memory = new Float32Array();

/** Creates a canvas. It has the pixels of the last image, so paint all of it. */
export function createCanvas(width: number, height: number): Canvas {
  const length = 3 * width * height;
  if (memory.length < length) memory = new Float32Array(length);
  return { width, height, pixels: memory.subarray(0, length) };
}

/** Paints a pixel over the existing color. `cover` is the opacity, 0 to 1. */
export function putPixel(
  { width, height, pixels }: Canvas,
  x: number,
  y: number,
  color: Color,
  cover: number,
  light = 1,
): void {
  if (x < 0 || y < 0 || x >= width || y >= height || cover <= 0) return;
  const at = 3 * (y * width + x);
  const share = Math.min(1, cover);
  const rest = 1 - share;
  const added = share * light;
  pixels[at] = (pixels[at] as number) * rest + color[0] * added;
  pixels[at + 1] = (pixels[at + 1] as number) * rest + color[1] * added;
  pixels[at + 2] = (pixels[at + 2] as number) * rest + color[2] * added;
}

/** Adds light to a pixel. */
function addLight(
  { width, height, pixels }: Canvas,
  x: number,
  y: number,
  color: Color,
  amount: number,
): void {
  if (x < 0 || y < 0 || x >= width || y >= height) return;
  const at = 3 * (y * width + x);
  const [red, green, blue] = [pixels[at] as number, pixels[at + 1] as number, pixels[at + 2] as number];
  // light adds up, but never to more than white
  if (red < 1) pixels[at] = red + (1 - red) * color[0] * amount;
  if (green < 1) pixels[at + 1] = green + (1 - green) * color[1] * amount;
  if (blue < 1) pixels[at + 2] = blue + (1 - blue) * color[2] * amount;
}

/** Adds a round light that fades to its edge. */
export function drawGlow(
  canvas: Canvas,
  x: number,
  y: number,
  radius: number,
  color: Color,
  amount: number,
): void {
  const reach = Math.ceil(radius);
  const left = Math.max(0, Math.round(x) - reach);
  const right = Math.min(canvas.width - 1, Math.round(x) + reach);
  const bottom = Math.min(canvas.height - 1, Math.round(y) + reach);
  for (let row = Math.max(0, Math.round(y) - reach); row <= bottom; row++)
    for (let column = left; column <= right; column++) {
      const away = Math.sqrt((column - x) ** 2 + (row - y) ** 2) / radius;
      if (away < 1) addLight(canvas, column, row, color, amount * (1 - away) * (1 - away));
    }
}

/** Fills a horizontal run of pixels. Its ends may be between two pixels. `light` brightens (above 1) or darkens. */
export function fillRun(
  canvas: Canvas,
  y: number,
  from: number,
  to: number,
  color: Color,
  cover = 1,
  light = 1,
): void {
  if (y < 0 || y >= canvas.height) return;
  const first = Math.max(0, Math.floor(from));
  const last = Math.min(canvas.width - 1, Math.floor(to));
  for (let x = first; x <= last; x++)
    putPixel(canvas, x, y, color, (Math.min(x + 1, to) - Math.max(x, from)) * cover, light);
}

/**
 * Paints a part without edges on a smaller canvas, with one pixel for `step` by `step` pixels, and scales it up. `paint`
 * gets the position in the full canvas, and writes red, green and blue to `color`.
 */
export function paintBlurred(
  { width, height, pixels }: Canvas,
  step: number,
  paint: (x: number, y: number, color: Float32Array) => void,
): void {
  const columns = Math.ceil(width / step) + 1;
  const rows = Math.ceil(height / step) + 1;
  const small = new Float32Array(3 * columns * rows);
  const color = new Float32Array(3);
  for (let row = 0, at = 0; row < rows; row++)
    for (let column = 0; column < columns; column++, at += 3) {
      paint(column * step, row * step, color);
      small.set(color, at);
    }
  const line = new Float32Array(3 * columns);
  for (let y = 0, at = 0; y < height; y++) {
    const above = 3 * columns * Math.floor(y / step);
    const share = (y % step) / step;
    for (let part = 0; part < line.length; part++) {
      const value = small[above + part] as number;
      line[part] = value + ((small[above + line.length + part] as number) - value) * share;
    }
    for (let x = 0, left = 0; x < width; left += 3) {
      let red = line[left] as number;
      let green = line[left + 1] as number;
      let blue = line[left + 2] as number;
      const redder = ((line[left + 3] as number) - red) / step;
      const greener = ((line[left + 4] as number) - green) / step;
      const bluer = ((line[left + 5] as number) - blue) / step;
      for (const end = Math.min(width, x + step); x < end; x++, at += 3) {
        pixels[at] = red;
        pixels[at + 1] = green;
        pixels[at + 2] = blue;
        red += redder;
        green += greener;
        blue += bluer;
      }
    }
  }
}

/** Mirrors the part above `horizon` into the water below, with ripples. */
export function paintMirror(
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

/** Steps of the table of contrast. */
const STEPS = 2048;
/** The byte of a value from 0 to 1, with a little contrast. */
const curve = Float32Array.from({ length: STEPS + 1 }, (_, step) => {
  const value = step / STEPS;
  return value * (229.5 + value * (76.5 - 51 * value));
});

/** Ends an image: a little contrast, darker corners and grain that hides the steps of gradients. */
export function finishImage({ width, height, pixels }: Canvas, random: Random): Uint8Array<ArrayBuffer> {
  // clamped, so that the grain goes neither below black nor above white
  const bytes = new Uint8ClampedArray(3 * width * height);
  const grain = Float32Array.from({ length: 4096 }, () => (random() + random() - 1) * 1.6);
  const across = Float32Array.from({ length: width }, (_, x) => (x / width - 0.5) ** 2);
  let next = 0;
  for (let y = 0, at = 0; y < height; y++) {
    const down = (y / height - 0.5) ** 2;
    for (let x = 0; x < width; x++) {
      const shade = STEPS * (1 - 0.34 * ((across[x] as number) + down));
      // steps of 7 and a start per row avoid a visible pattern
      next = (next + 7 + (x & 1)) & 4095;
      const noise = grain[next] as number;
      for (const end = at + 3; at < end; at++) {
        const step = ((pixels[at] as number) * shade) | 0;
        bytes[at] = (curve[step < 0 ? 0 : Math.min(step, STEPS)] as number) + noise;
      }
    }
    next = (next + Math.floor(random() * 4096)) & 4095;
  }
  return new Uint8Array(bytes.buffer);
}
