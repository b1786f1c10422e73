import type { Canvas } from "./canvas.ts";
import { hex, lit, mix } from "./color.ts";
import { tinted } from "./mountains.ts";
import { layered, noiseOf, type Random, smooth } from "./noise.ts";
import { lightOf, paintSky, sampled } from "./sky.ts";
import type { Subject } from "./subject.ts";

const DUNES = 6;

/** Paints dunes behind dunes: a lit side, a side in shadow, and ripples in the sand. */
export function paintDesert(canvas: Canvas, subject: Subject, seed: string, random: Random): void {
  const { width, height, pixels } = canvas;
  const light = lightOf(subject);
  const horizon = 0.52;
  const sun = paintSky(canvas, { ...subject, stars: subject.stars }, horizon + 0.06, seed, random);
  const toLeft = sun.x < 0.5 ? 1 : -1;
  const ripples = layered(noiseOf(`${seed} ripples`), 2);
  const dunes = Array.from({ length: DUNES }, (_, at) =>
    duneOf(canvas, at / (DUNES - 1), horizon, `${seed} dune ${at}`),
  );
  const highest = Math.max(0, Math.floor(Math.min(...dunes.map(({ peak }) => peak))));
  const fine = sampled(width, height - highest, 4, (x, y) => ripples((x / height) * 5, (y / height) * 9));
  const wide = sampled(width, height - highest, 4, (x, y) => ripples((x / height) * 2.4, (y / height) * 5));
  for (const [at, { top, crestAt }] of dunes.entries()) {
    const next = dunes[at + 1]?.top;
    const endAt = (x: number) =>
      Math.min(height, Math.ceil(Math.max(top[x] as number, next?.[x] ?? height)) + 1);
    const crest = crestAt(deepest(top, endAt));
    const near = at / (DUNES - 1);
    const sand = tinted(hex("#eab676"), light.ground, light.isDark);
    const bright = mix(
      light.haze,
      mix(lit(sand, 1.18), light.sun, light.isDark ? 0.05 : 0.16),
      0.22 + 0.74 * near,
    );
    const dark = mix(
      light.haze,
      lit(mix(sand, light.sky[1] ?? light.haze, light.isDark ? 0.5 : 0.28), 0.55),
      0.25 + 0.68 * near,
    );
    for (let x = 0; x < width; x++) {
      const first = top[x] as number;
      const start = Math.max(0, Math.floor(first));
      const end = endAt(x);
      for (let y = start; y < end; y++) {
        const down = (y - first) / height;
        // the line between light and shadow winds down from the crest
        const edge = crest(x, y - start);
        const shadow = smooth(-0.05, 0.05 + 0.1 * down, edge * toLeft);
        const ripple = Math.sin(
          (x * 0.35 + (y - first) * (1.6 + near)) / (height * 0.0042 * (0.6 + near)) +
            7 * fine(x, y - highest),
        );
        const shade =
          1 + 0.045 * ripple * near + 0.08 * wide(x, y - highest) - 0.18 * near * smooth(0.02, 0.5, down);
        const rim = smooth(0.012, 0, down) * 0.18 * (1 - shadow);
        const cover = y < first ? 1 - (first - y) : 1;
        const pixel = 3 * (y * width + x);
        for (let part = 0; part < 3; part++) {
          const one = bright[part] as number;
          const value = (one + ((dark[part] as number) - one) * shadow) * shade + rim;
          const before = pixels[pixel + part] as number;
          pixels[pixel + part] = before + (value - before) * cover;
        }
      }
    }
  }
}

/** Number of rows of the tallest column of a dune that is seen. */
function deepest(top: Float32Array, endAt: (x: number) => number): number {
  return top.reduce((most, first, x) => Math.max(most, endAt(x) - Math.max(0, Math.floor(first))), 1);
}

function duneOf({ width, height }: Canvas, near: number, horizon: number, seed: string) {
  const noise = noiseOf(seed);
  const layers = layered(noise, 3);
  const scale = 1.9 - 1.15 * near;
  // steep on one side: a smooth wave that leans
  const leanAt = (x: number) => {
    const u = (x / height) * scale;
    return u * 0.9 + 0.25 * noise(u * 2, 3);
  };
  const top = Float32Array.from({ length: width }, (_, x) => {
    const u = (x / height) * scale;
    const wave = 1 - Math.abs(noise(leanAt(x), 1.7)) * 1.6;
    return (
      height * (horizon + 0.05 + 0.4 * near ** 1.5 - (0.05 + 0.12 * near) * wave - 0.02 * noise(u * 2.2, 8))
    );
  });
  const peak = top.reduce((one, other) => Math.min(one, other), height);
  /** Computes the crest for as many rows below the top as are seen. */
  const crestAt = (rows: number) =>
    sampled(width, rows, 3, (x, down) => {
      const y = (top[Math.min(width - 1, x)] as number) + down;
      const bend = layers((x / height) * scale, (y / height) * 3);
      return noise(leanAt(x) + 0.5 * (down / height) * scale + 0.1 * bend, 1.7);
    });
  return { top, peak, crestAt };
}
