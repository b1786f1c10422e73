import { type Canvas, paintMirror } from "./canvas.ts";
import { brighten, type Color, mix, parseHex } from "./color.ts";
import { createCrests, createNoise, layerNoise, type Random, smoothStep } from "./noise.ts";
import { computeLight, paintSky } from "./sky.ts";
import type { Season, Subject } from "./subject.ts";

const grounds: Readonly<Record<Season, readonly [rock: Color, meadow: Color]>> = {
  spring: [parseHex("#5d6f63"), parseHex("#7fa05a")],
  summer: [parseHex("#55636a"), parseHex("#4f7a4a")],
  autumn: [parseHex("#6a5a55"), parseHex("#b0713a")],
  winter: [parseHex("#6f7f92"), parseHex("#c9d6e2")],
};
const PINES = parseHex("#43606a");
const RIDGES = 6;

/** Paints ridges behind ridges, each paler the farther away it is, and a lake if there is one. */
export function paintMountains(canvas: Canvas, subject: Subject, seed: string, random: Random): void {
  const { width, height } = canvas;
  const horizon = subject.lake ? 0.66 : 0.74;
  const light = computeLight(subject);
  const sun = paintSky(canvas, subject, horizon, seed, random);
  const [rock, meadow] = grounds[subject.season];
  const floor = Math.round(height * (subject.lake ? 0.7 : 1));
  const tops = Array.from({ length: RIDGES }, (_, at) =>
    createRidge(canvas, subject, `${seed} ridge ${at}`, at, horizon),
  );
  for (let at = 0; at < RIDGES; at++) {
    const near = at / (RIDGES - 1);
    const isWooded = near > 0.7 && subject.season === "winter";
    const stone = isWooded ? PINES : mix(rock, meadow, smoothStep(0.35, 0.85, near));
    const far = mix(light.haze, light.sky[1] ?? light.haze, 0.6 - 0.25 * near);
    const base = mix(
      far,
      brighten(tint(stone, light.ground, light.isDark), 1 - 0.45 * near),
      (subject.time === "day" && !subject.mist ? 0.44 : 0.3) + 0.55 * near,
    );
    paintFace(canvas, subject, {
      top: tops[at] as Float32Array,
      next: tops[at + 1],
      floor,
      base,
      haze: light.haze,
      near,
      glare: light.sun,
      sunX: sun.x * width,
      seed: `${seed} face ${at}`,
    });
  }
  if (subject.lake) {
    const noise = layerNoise(createNoise(`${seed} lake`), 3);
    const water = mix(
      brighten(light.sky[1] ?? light.haze, 0.8),
      parseHex("#123a4a"),
      light.isDark ? 0.4 : 0.35,
    );
    paintMirror(canvas, floor, water, (x, y) => noise((x / height) * 5, ((y - floor) / height) * 90));
  }
}

/** Multiplies a color with the light on it. */
function tint(color: Color, light: Color, isDark: boolean): Color {
  const power = isDark ? 0.75 : 1.05;
  return [color[0] * light[0] * power, color[1] * light[1] * power, color[2] * light[2] * power];
}

function createRidge(
  { width, height }: Canvas,
  { lake, season, mist }: Subject,
  seed: string,
  at: number,
  horizon: number,
): Float32Array {
  const near = at / (RIDGES - 1);
  const noise = createNoise(seed);
  const sharp = createCrests(noise, 6);
  const soft = layerNoise(noise, 5);
  const base = horizon * (mist ? 0.74 + 0.3 * near : 0.86 + 0.18 * near) + (lake ? -0.02 : 0.12 * near);
  const reach = (mist ? 0.25 : 0.36) * (1 - near) ** 1.2 + 0.1;
  return Float32Array.from({ length: width }, (_, x) => {
    const u = x / height;
    const peaks = sharp(u * (0.9 + near * 0.5) + at * 7, at) * (1 - near * 0.75);
    const hills = soft(u * (1.1 + near) + at * 3, 2 + at) * 0.5;
    // trees on the nearest hills
    const tree =
      near > 0.7
        ? computeTreeLine(u * (near > 0.9 ? 55 : 90), noise) * (season === "winter" ? 0.014 : 0.017)
        : 0;
    return (
      (base - reach * (peaks * 0.85 + hills * (0.35 + near * 0.5)) - tree * (near > 0.9 ? 1.7 : 1)) * height
    );
  });
}

/** Row of pointed trees of different heights, from 0 to 1. */
function computeTreeLine(u: number, noise: (x: number, y: number) => number): number {
  const tree = Math.floor(u);
  const tall = 0.55 + 0.45 * noise(tree * 0.73, 5.5) + 0.3 * noise(tree * 0.11, 9);
  return Math.max(0, tall) * (1 - Math.abs(u - tree - 0.5) * 1.6);
}

interface Face {
  readonly top: Float32Array;
  readonly next: Float32Array | undefined;
  readonly floor: number;
  readonly base: Color;
  readonly haze: Color;
  readonly near: number;
  readonly glare: Color;
  readonly sunX: number;
  readonly seed: string;
}

/** Fills a ridge down to the next one: folds, snow on high ground, and haze in the valley below it. */
function paintFace(canvas: Canvas, { mist, season, time }: Subject, face: Face) {
  const { width, height, pixels } = canvas;
  const { top, next, floor, base, haze, near, glare, sunX, seed } = face;
  const folds = layerNoise(createNoise(seed), 3);
  const snow = mix(
    mix(parseHex("#f6f9ff"), glare, 0.35),
    haze,
    0.35 * (1 - near) + (time === "night" ? 0.72 : 0.05),
  );
  const snowy = season === "winter" ? 1 : mist ? 0 : season === "summer" ? 0.35 : 0.6;
  const veil = mist ? 0.97 - 0.5 * near ** 3 : 0.5 * (1 - near * 0.85);
  const depth = height * (mist ? 0.15 : 0.17 + 0.16 * (1 - near));
  const relief = mist ? 0.3 : 1;
  for (let x = 0; x < width; x++) {
    const crest = top[x] as number;
    const end = Math.min(floor, next ? Math.ceil(Math.max(crest, next[x] as number)) + 1 : floor);
    const toSun = 0.5 + 0.5 * Math.tanh(((sunX - x) / width) * 3);
    const slope = Math.tanh(
      ((top[Math.min(width - 1, x + 3)] as number) - (top[Math.max(0, x - 3)] as number)) * 0.16,
    );
    for (let y = Math.max(0, Math.floor(crest)); y < end; y++) {
      const down = (y - crest) / depth;
      const fold = folds((x + (y - crest) * 0.7) / (height * 0.075), (y - crest) / (height * 0.13));
      const side = slope * (toSun * 2 - 1) * Math.exp(-down * 2.5);
      const shade =
        1 +
        (0.42 * fold - 0.22 * side) * (0.35 + 0.65 * near) * relief -
        (near > 0.9 ? 0.25 * Math.min(1, down) : 0);
      const white =
        near > 0.7
          ? season === "winter"
            ? 0.28
            : 0
          : snowy * smoothStep(0.62 * snowy + 0.06, 0.05, down + fold * 0.55) * (1 - near * 0.25);
      const fog = Math.min(1, veil * smoothStep(mist ? -0.05 : 0.12, 1.1, down + fold * 0.06));
      const cover = y < crest ? 1 - (crest - y) : 1;
      const at = 3 * (y * width + x);
      for (let part = 0; part < 3; part++) {
        let value = (base[part] as number) * shade;
        value += ((snow[part] as number) * (0.82 + 0.18 * shade) - value) * white;
        value += ((haze[part] as number) * 1.04 - value) * fog;
        const before = pixels[at + part] as number;
        pixels[at + part] = before + (value - before) * cover;
      }
    }
  }
}
