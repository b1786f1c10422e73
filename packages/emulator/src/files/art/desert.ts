import type { Canvas } from "./canvas.js";
import { hex, lit, mix } from "./color.js";
import { tinted } from "./mountains.js";
import { layered, noiseOf, type Random, smooth } from "./noise.js";
import { lightOf, paintSky } from "./sky.js";
import type { Subject } from "./subject.js";

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
  for (const [at, { top, crest }] of dunes.entries()) {
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
      const end = Math.min(height, Math.ceil(Math.max(first, dunes[at + 1]?.top[x] ?? height)) + 1);
      for (let y = Math.max(0, Math.floor(first)); y < end; y++) {
        const down = (y - first) / height;
        // the line between light and shadow winds down from the crest
        const edge = crest(x, y);
        const shadow = smooth(-0.05, 0.05 + 0.1 * down, edge * toLeft);
        const ripple = Math.sin(
          (x * 0.35 + (y - first) * (1.6 + near)) / (height * 0.0042 * (0.6 + near)) +
            7 * ripples((x / height) * 5, (y / height) * 9),
        );
        const shade =
          1 +
          0.045 * ripple * near +
          0.08 * ripples((x / height) * 2.4, (y / height) * 5) -
          0.18 * near * smooth(0.02, 0.5, down);
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

function duneOf({ width, height }: Canvas, near: number, horizon: number, seed: string) {
  const noise = noiseOf(seed);
  const bend = layered(noise, 3);
  const scale = 1.9 - 1.15 * near;
  const top = Float32Array.from({ length: width }, (_, x) => {
    const u = (x / height) * scale;
    // steep on one side: a smooth wave that leans
    const wave = 1 - Math.abs(noise(u * 0.9 + 0.25 * noise(u * 2, 3), 1.7)) * 1.6;
    return (
      height * (horizon + 0.05 + 0.4 * near ** 1.5 - (0.05 + 0.12 * near) * wave - 0.02 * noise(u * 2.2, 8))
    );
  });
  const crest = (x: number, y: number) => {
    const u = (x / height) * scale;
    const down = (y - (top[x] as number)) / height;
    return noise(
      u * 0.9 + 0.25 * noise(u * 2, 3) + 0.5 * down * scale + 0.1 * bend(u, (y / height) * 3),
      1.7,
    );
  };
  return { top, crest };
}
