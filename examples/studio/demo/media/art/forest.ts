import { type Canvas, mirror, run } from "./canvas.ts";
import { type Color, hex, lit, mix } from "./color.ts";
import { tinted } from "./mountains.ts";
import { createNoise, createRandom, layered, type Random, smooth } from "./noise.ts";
import { computeLight, paintSky, sampled } from "./sky.ts";
import type { Season, Subject } from "./subject.ts";

const LAYERS = 6;
const leaves: Readonly<Record<Season, readonly Color[]>> = {
  spring: ["#4f8a4a", "#7fae55", "#3d7048", "#e8b3c0"].map(hex),
  summer: ["#2f5f43", "#3c7049", "#264f3b"].map(hex),
  autumn: ["#d07a2c", "#b9502c", "#e2a53a", "#5f6b3c", "#8f3f2a"].map(hex),
  winter: ["#3f5a60", "#4a666a", "#365057"].map(hex),
};

/** Paints rows of trees that fade into the mist, with ground between them, and rays of a low sun. */
export function paintForest(canvas: Canvas, subject: Subject, seed: string, random: Random): void {
  const { height } = canvas;
  const light = computeLight(subject);
  const horizon = subject.aurora || light.isDark ? 0.78 : 0.66;
  const sun = paintSky(canvas, subject, horizon, seed, random);
  const floor = Math.round(height * (subject.lake ? 0.8 : 1));
  for (let layer = 0; layer < LAYERS; layer++) {
    const near = layer / (LAYERS - 1);
    paintTrees(canvas, subject, near, horizon, floor, `${seed} trees ${layer}`);
    veil(canvas, subject, near, light.haze, horizon, `${seed} mist ${layer}`);
  }
  if (subject.lake) {
    const noise = layered(createNoise(`${seed} lake`), 3);
    mirror(canvas, floor, mix(light.sky[1] ?? light.haze, hex("#0d2a33"), 0.4), (x, y) =>
      noise((x / height) * 6, ((y - floor) / height) * 90),
    );
  }
  if (!light.isDark && (subject.time === "dawn" || subject.time === "dusk" || subject.mist))
    rays(canvas, sun.x, sun.y, light.sun, seed);
}

function paintTrees(
  canvas: Canvas,
  subject: Subject,
  near: number,
  horizon: number,
  floor: number,
  seed: string,
) {
  const { width, height, pixels } = canvas;
  const light = computeLight(subject);
  const random = createRandom(seed);
  const noise = createNoise(seed);
  const ground = layered(noise, 4);
  const layers = layered(noise, 2);
  const groundAt = (x: number) =>
    height *
    (horizon +
      0.015 +
      0.3 * near ** 1.4 * (1.12 - horizon) * 2 -
      0.05 * (1 - near) * ground((x / height) * 1.4, near * 9));
  const depth = 0.14 + 0.82 * near ** 1.1;
  const snow = subject.season === "winter";
  const soil = mix(
    light.haze,
    tinted(snow ? hex("#dde8f2") : hex("#39432f"), light.ground, light.isDark),
    0.3 + 0.65 * near,
  );
  const tops = Float32Array.from({ length: width }, (_, x) => groundAt(x));
  const highest = Math.max(0, Math.floor(tops.reduce((one, other) => Math.min(one, other), floor)));
  const lowest = tops.reduce((one, other) => Math.max(one, other), 0);
  const rows = Math.max(0, Math.ceil(near === 1 ? floor : Math.min(floor, lowest + height * 0.3)) - highest);
  const rugged = sampled(width, rows, 2, (x, down) =>
    layers((x / height) * 12, ((highest + down) / height) * 40),
  );
  for (let x = 0; x < width; x++) {
    const top = tops[x] as number;
    // the next row of trees covers the rest
    const end = near === 1 ? floor : Math.min(floor, top + height * 0.3);
    for (let y = Math.max(0, Math.floor(top)); y < end; y++) {
      const rough = 1 + 0.16 * rugged(x, y - highest) - 0.35 * near * smooth(0, 0.25, (y - top) / height);
      const cover = Math.min(1, y - top + 1);
      const at = 3 * (y * width + x);
      for (let part = 0; part < 3; part++) {
        const before = pixels[at + part] as number;
        pixels[at + part] = before + ((soil[part] as number) * rough - before) * cover;
      }
    }
  }
  // gaps let the view into the next row
  const spacing = height * (0.02 + 0.075 * near);
  for (let x = -spacing; x < width + spacing; x += spacing * (0.5 + random())) {
    const center = Math.abs(x / width - 0.5) * 2;
    if (near > 0.55 && random() > center ** 1.1 + 0.12) continue;
    const tall =
      height *
      (0.13 + 0.5 * near ** 1.25) *
      (0.62 + 0.6 * random()) *
      (near > 0.55 ? 0.75 + 0.4 * center : 1);
    const options = leaves[subject.season];
    const leaf = options[Math.floor(random() * options.length)] ?? ([0, 0, 0] as const);
    const color = mix(light.haze, lit(tinted(leaf, light.ground, light.isDark), 1 - 0.5 * near), depth);
    const broad =
      subject.season === "autumn"
        ? random() < 0.65
        : subject.season === "spring"
          ? random() < 0.5
          : !snow && random() < 0.06;
    const foot = groundAt(x) + height * 0.015;
    if (broad) crown(canvas, x, foot, tall * 0.72, color, random);
    else
      conifer(
        canvas,
        x,
        foot,
        tall,
        color,
        snow ? mix(light.haze, light.isDark ? hex("#8fa6c9") : hex("#f3f8ff"), 0.55 + 0.3 * near) : undefined,
        random,
      );
  }
}

/** Draws a pointed tree: a trunk and layers of boughs that hang. */
function conifer(
  canvas: Canvas,
  x: number,
  foot: number,
  tall: number,
  color: Color,
  snow: Color | undefined,
  random: Random,
) {
  const wide = tall * (0.15 + 0.05 * random());
  const boughs = 9 + Math.floor(random() * 6);
  const lean = (random() - 0.5) * 0.03;
  const phase = random() * 7;
  for (let step = 0; step < tall; step++) {
    const up = step / tall;
    const y = Math.round(foot - step);
    const middle = x + lean * step;
    if (up < 0.09) {
      run(canvas, y, middle - tall * 0.012, middle + tall * 0.012, lit(color, 0.7));
      continue;
    }
    const along = (1 - up) * boughs;
    const hang = along - Math.floor(along);
    const half = wide * (1 - up) * (0.5 + 0.55 * hang) + tall * 0.003;
    const ragged = half * 0.16;
    const left = half + ragged * Math.sin(step * 1.9 + phase);
    const right = half + ragged * Math.sin(step * 2.3 + phase * 2);
    run(canvas, y, middle - left, middle + right, color, 1, 0.82 + 0.3 * (1 - hang));
    if (snow && hang < 0.5)
      run(canvas, y, middle - left * 0.9, middle + right * 0.35, snow, 0.85 * (1 - hang * 2));
  }
}

/** Draws a tree with a round crown of many leaves. */
function crown(canvas: Canvas, x: number, foot: number, tall: number, color: Color, random: Random) {
  for (let step = 0; step < tall * 0.6; step++)
    run(canvas, Math.round(foot - step), x - tall * 0.018, x + tall * 0.018, lit(color, 0.4), 0.95);
  const clumps = 46;
  for (let clump = 0; clump < clumps; clump++) {
    const angle = random() * 2 * Math.PI;
    const away = Math.sqrt(random()) * tall * 0.27;
    const cx = x + Math.cos(angle) * away;
    const cy = foot - tall * 0.66 + Math.sin(angle) * away * 1.15;
    const radius = tall * (0.045 + 0.045 * random());
    const light = 0.75 + 0.5 * random() - 0.35 * Math.sin(angle) * (away / tall) * 2;
    for (let dy = -radius; dy <= radius; dy++) {
      const half = Math.sqrt(Math.max(0, radius * radius - dy * dy)) * (0.85 + 0.3 * random());
      run(canvas, Math.round(cy + dy), cx - half, cx + half, color, 0.9, light - 0.12 * (dy / radius));
    }
  }
}

function veil(
  { width, height, pixels }: Canvas,
  { mist, time }: Subject,
  near: number,
  haze: Color,
  horizon: number,
  seed: string,
) {
  if (near > 0.85) return;
  const noise = layered(createNoise(seed), 4);
  const power = (mist ? 0.62 : time === "night" ? 0.2 : 0.34) * (1 - near * 0.75);
  const center = horizon + 0.05 + near * 0.16;
  const deep = 0.1 + 0.06 * near;
  // beyond this distance the mist is thinner than a step of a color
  const first = Math.floor(height * (center - 2.3 * deep));
  const last = Math.min(height, Math.ceil(height * (center + 2.3 * deep)));
  const amountAt = sampled(width, last - first, 4, (x, down) => {
    const y = first + down;
    const away = (y / height - center) / deep;
    return power * Math.exp(-away * away) * (0.7 + 0.7 * noise((x / height) * 1.6, (y / height) * 6));
  });
  for (let y = first; y < last; y++)
    for (let x = 0; x < width; x++) {
      const amount = Math.max(0, amountAt(x, y - first));
      const at = 3 * (y * width + x);
      for (let part = 0; part < 3; part++) {
        const before = pixels[at + part] as number;
        pixels[at + part] = before + ((haze[part] as number) - before) * amount;
      }
    }
}

function rays({ width, height, pixels }: Canvas, sunX: number, sunY: number, color: Color, seed: string) {
  const noise = layered(createNoise(`${seed} rays`), 3);
  const amountAt = sampled(width, height, 4, (x, y) => {
    const dx = (x / width - sunX) * (width / height);
    const dy = y / height - sunY + 0.15;
    const away = Math.sqrt(dx * dx + dy * dy);
    return (
      0.42 *
      smooth(-0.05, 0.6, noise(Math.atan2(dy, dx) * 4.2, 3)) *
      Math.exp(-away * 1.7) *
      smooth(-0.1, 0.35, dy) *
      smooth(0, 0.2, away)
    );
  });
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const amount = amountAt(x, y);
      const at = 3 * (y * width + x);
      for (let part = 0; part < 3; part++) {
        const before = pixels[at + part] as number;
        pixels[at + part] = before + (1 - before) * (color[part] as number) * amount;
      }
    }
}
