import { type Canvas, drawGlow, paintBlurred } from "./canvas.ts";
import { brighten, type Color, mix, parseHex, pickColor } from "./color.ts";
import { createNoise, layerNoise, type Random, smoothStep } from "./noise.ts";
import type { Subject, Time } from "./subject.ts";

/** Colors of a time of day. */
export interface Light {
  /** From the top of the sky to the horizon. */
  readonly sky: readonly Color[];
  readonly sun: Color;
  /** Color of far things. */
  readonly haze: Color;
  /** Light on the ground: its color times its strength. */
  readonly ground: Color;
  readonly isDark: boolean;
}

const lights: Readonly<Record<Time, Light>> = {
  dawn: createLight(["#3b4f86", "#7d7fb0", "#d6a2b0", "#f7c9a4", "#ffe6bd"], "#fff0cf", "#f0cdb9", "#e3bcae"),
  day: createLight(["#2a66ad", "#4f8fcb", "#8dbce2", "#c7e0ef", "#eaf4f5"], "#fffdf0", "#c9dfec", "#fff6e2"),
  dusk: createLight(["#1e2150", "#4d3574", "#a2466f", "#e8704f", "#ffbd66"], "#ffe2a6", "#c9757a", "#c88375"),
  night: createLight(
    ["#040817", "#091230", "#122149", "#1f3663", "#35507c"],
    "#eef3ff",
    "#223a63",
    "#3c5285",
    true,
  ),
};
const stormy = createLight(
  ["#1f262e", "#38434d", "#5b6871", "#86929a", "#b3bdc0"],
  "#dfe6e6",
  "#8f9ba2",
  "#7d888e",
);

function createLight(
  sky: readonly string[],
  sun: string,
  haze: string,
  ground: string,
  isDark = false,
): Light {
  return {
    sky: sky.map(parseHex),
    sun: parseHex(sun),
    haze: parseHex(haze),
    ground: parseHex(ground),
    isDark,
  };
}

/** Chooses the light of a subject. Colors that it names go into the sky. */
export function computeLight({ time, storm, rain, tints }: Subject): Light {
  const plain = storm || (rain && time === "day") ? stormy : lights[time];
  const [first, second = first] = tints;
  if (!first || !second) return plain;
  const share = plain.isDark ? 0.3 : 0.48;
  const sky = plain.sky.map((color, at) =>
    mix(color, brighten(at < 2 ? first : second, at < 2 ? 0.75 : 1.1), share),
  );
  return { ...plain, sky, haze: mix(plain.haze, second, share), ground: mix(plain.ground, second, 0.25) };
}

/** Place of the sun or moon, as shares of width and height. */
export interface Sun {
  readonly x: number;
  readonly y: number;
}

/** Paints sky, sun or moon, clouds, stars and aurora, down to `horizon` (a share of the height). */
export function paintSky(
  canvas: Canvas,
  subject: Subject,
  horizon: number,
  seed: string,
  random: Random,
): Sun {
  const light = computeLight(subject);
  const low = subject.time === "dawn" || subject.time === "dusk";
  const sun = {
    x: 0.2 + random() * 0.6,
    y: low ? horizon * (0.74 + random() * 0.14) : horizon * (0.2 + random() * 0.2),
  };
  const hidden = subject.storm || subject.rain;
  fillSky(canvas, light, sun, horizon, hidden ? 0.25 : 1);
  if (light.isDark || subject.stars) drawStars(canvas, horizon, light.isDark ? 1 : 0.55, random);
  if (subject.aurora) paintAurora(canvas, horizon, seed, subject.tints);
  if (!hidden && !subject.aurora) drawDisk(canvas, sun, light, low);
  if (!subject.aurora) paintClouds(canvas, subject, light, sun, horizon, seed);
  return sun;
}

function fillSky(
  canvas: Canvas,
  { sky, sun: color, isDark }: Light,
  sun: Sun,
  horizon: number,
  power: number,
) {
  const { width, height } = canvas;
  const strength = (isDark ? 0.2 : 0.5) * power;
  const aspect = width / height;
  paintBlurred(canvas, 4, (x, y, pixel) => {
    const plain = pickColor(sky, Math.min(1, y / height / horizon) ** 1.15);
    const dx = (x / width - sun.x) * aspect;
    const dy = (y / height - sun.y) * 1.5;
    const away = dx * dx + dy * dy;
    // a wide halo and a narrow one
    const halo = strength * (0.55 / (1 + 14 * away) + 0.6 / (1 + 160 * away));
    for (let part = 0; part < 3; part++) {
      const value = plain[part] as number;
      pixel[part] = value + ((color[part] as number) - value) * halo;
    }
  });
}

function drawDisk(canvas: Canvas, { x, y }: Sun, { sun, isDark }: Light, low: boolean) {
  const { width, height } = canvas;
  const radius = height * (low ? 0.04 : isDark ? 0.024 : 0.026);
  drawGlow(canvas, x * width, y * height, radius * 4, sun, isDark ? 0.35 : 0.6);
  for (let dy = -radius - 1; dy <= radius + 1; dy++)
    for (let dx = -radius - 1; dx <= radius + 1; dx++) {
      const edge = smoothStep(radius + 0.8, radius - 0.8, Math.sqrt(dx * dx + dy * dy));
      if (edge > 0) drawGlow(canvas, Math.round(x * width + dx), Math.round(y * height + dy), 1, sun, edge);
    }
}

function drawStars(canvas: Canvas, horizon: number, share: number, random: Random) {
  const { width, height } = canvas;
  const size = Math.max(0.7, height / 1100);
  const count = Math.round((260 * width) / height);
  for (let star = 0; star < count; star++) {
    const y = random() ** 1.3 * horizon;
    const bright = random() ** 4;
    const color = mix(parseHex("#cfe0ff"), parseHex("#fff0d6"), random());
    const fade = share * (1 - (y / horizon) ** 3);
    drawGlow(
      canvas,
      random() * width,
      y * height,
      size * (1.2 + 1.6 * bright),
      color,
      fade * (0.35 + 0.65 * bright),
    );
  }
}

/** Clouds lie flatter towards the horizon. They are computed for every fourth pixel: they have no edges. */
function paintClouds(
  canvas: Canvas,
  subject: Subject,
  light: Light,
  sun: Sun,
  horizon: number,
  seed: string,
) {
  const { width, height, pixels } = canvas;
  const noise = layerNoise(createNoise(`${seed} clouds`), 5);
  const cover = subject.storm || subject.rain ? 0.75 : subject.time === "night" ? 0.1 : 0.32;
  const bright = mix(light.sun, light.haze, light.isDark ? 0.85 : subject.storm ? 0.6 : 0.25);
  const dark = mix(light.sky[1] ?? light.haze, light.haze, subject.storm ? 0.25 : 0.55);
  const last = Math.min(height, Math.ceil(horizon * height));
  const cloud = sample(width, last, 3, (x, y) => {
    const up = 1 - y / height / horizon;
    const far = 0.35 + up * 1.6;
    const value = noise(((x / height) * 2.2) / far + 3, (up * 6) / far);
    return smoothStep(0.34 - cover, 0.86 - cover * 0.7, value) * smoothStep(0.02, 0.2, up);
  });
  for (let y = 0; y < last; y++)
    for (let x = 0; x < width; x++) {
      const thick = cloud(x, y);
      if (thick <= 0.004) continue;
      const near = 1 / (1 + 5 * ((x / width - sun.x) ** 2 + (y / height - sun.y) ** 2));
      const at = 3 * (y * width + x);
      const shade = Math.min(1, thick * 0.9 + 0.15 - near * 0.25);
      for (let part = 0; part < 3; part++) {
        const before = pixels[at + part] as number;
        const color = (bright[part] as number) * (1 - shade * 0.55) + (dark[part] as number) * shade * 0.55;
        pixels[at + part] = before + (color - before) * Math.min(0.92, thick);
      }
    }
}

/** Curtains of light with fine vertical rays. */
function paintAurora(canvas: Canvas, horizon: number, seed: string, tints: readonly Color[]) {
  const { width, height, pixels } = canvas;
  const noise = createNoise(`${seed} aurora`);
  const bend = layerNoise(noise, 2);
  const low = tints[0] ?? parseHex("#35f0a0");
  const high = tints[1] ?? parseHex("#7a4fe0");
  for (let curtain = 0; curtain < 3; curtain++) {
    const offset = curtain * 9.7;
    const strength = [1.5, 1, 0.8][curtain] ?? 0.8;
    for (let x = 0; x < width; x++) {
      const u = x / height;
      const foot = horizon * (0.56 + 0.13 * curtain + 0.5 * bend(u * 0.9 + offset, 0.3 + curtain)) * height;
      const ray = 0.75 + 0.4 * noise(u * 17 + offset, 4) + 0.25 * noise(u * 60, offset);
      const fold = 0.5 + 0.6 * noise(u * 1.7 + offset, 8.2);
      const power = strength * Math.max(0, ray) * Math.max(0.08, fold);
      const tall = height * horizon * (0.24 + 0.14 * noise(u * 3 + offset, 1.5));
      for (
        let y = Math.max(0, Math.floor(foot - 2.6 * tall));
        y < Math.min(height * horizon, foot + 0.1 * tall);
        y++
      ) {
        const up = (foot - y) / tall;
        const amount = power * (up < 0 ? Math.max(0, 1 + up * 10) : Math.exp(-1.25 * up));
        const share = Math.min(1, Math.max(0, up) * 0.62);
        const at = 3 * (y * width + x);
        for (let part = 0; part < 3; part++) {
          const before = pixels[at + part] as number;
          const color = (low[part] as number) + ((high[part] as number) - (low[part] as number)) * share;
          pixels[at + part] = before + (1 - before) * color * amount * 0.8;
        }
      }
    }
  }
}

/** Computes a smooth function for every `step`th pixel, and joins the values by straight lines once for all pixels. */
export function sample(width: number, height: number, step: number, value: (x: number, y: number) => number) {
  const columns = Math.ceil(width / step) + 2;
  const rows = Math.ceil(height / step) + 2;
  const values = new Float32Array(columns * rows);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      values[row * columns + column] = value(column * step, row * step);
  const joined = new Float32Array(width * height);
  for (let y = 0; y < height; y++) {
    const row = Math.floor(y / step);
    const share = y / step - row;
    for (let x = 0, at = row * columns; x < width; at++) {
      const above = values[at] as number;
      const left = above + ((values[at + columns] as number) - above) * share;
      const next = values[at + 1] as number;
      const rise = (next + ((values[at + columns + 1] as number) - next) * share - left) / step;
      for (let dx = 0; dx < step && x < width; dx++, x++) joined[y * width + x] = left + rise * dx;
    }
  }
  return (x: number, y: number) => joined[y * width + x] as number;
}
