import { type Canvas, glow, mirror, put, shine } from "./canvas.ts";
import { type Color, hex, lit, mix } from "./color.ts";
import { createNoise, createRandom, type Random } from "./noise.ts";
import { computeLight, type Light, paintSky } from "./sky.ts";
import type { Subject } from "./subject.ts";

const lamps = ["#ffd58a", "#ffe8b8", "#fff4dc", "#ffc266", "#bfe0ff"].map(hex);
const signs = ["#ff4f8b", "#37d6ff", "#ffb020", "#8a5bff", "#3dffb0"].map(hex);
const ROWS = 4;

/** Paints a skyline in rows of towers with lit windows, mirrored in the water or the wet street before it. */
export function paintCity(canvas: Canvas, subject: Subject, seed: string, random: Random): void {
  const { height } = canvas;
  const light = computeLight(subject);
  paintSky(canvas, subject, 0.8, seed, random);
  const shore = Math.round(height * 0.79);
  lightPollution(canvas, light, shore);
  const share = light.isDark ? 0.36 : subject.time === "day" ? 0 : 0.24;
  for (let row = 0; row < ROWS; row++)
    paintRow(canvas, light, row / (ROWS - 1), shore, share, createRandom(`${seed} row ${row}`));
  const noise = createNoise(`${seed} water`);
  const water = mix(hex("#0a1626"), light.sky[1] ?? light.haze, 0.35);
  // long ripples: lights become streaks
  mirror(canvas, shore, water, (x, y) => {
    const depth = (y - shore) / (height - shore);
    return (
      noise((x / height) * (26 - 16 * depth), ((y - shore) / height) * (130 - 60 * depth)) *
      (0.7 + 3.4 * depth)
    );
  });
}

function lightPollution({ width, pixels }: Canvas, light: Light, shore: number) {
  const warm = light.isDark ? mix(hex("#c4744a"), light.haze, 0.25) : light.haze;
  for (let y = 0; y < shore; y++) {
    const amount = (light.isDark ? 0.75 : 0.4) * (y / shore) ** 3.2;
    for (let x = 0; x < width; x++) {
      const at = 3 * (y * width + x);
      for (let part = 0; part < 3; part++) {
        const before = pixels[at + part] as number;
        pixels[at + part] = before + ((warm[part] as number) - before) * amount;
      }
    }
  }
}

/** Paints one row of towers; `near` is 0 for the farthest and 1 for the nearest. */
function paintRow(
  canvas: Canvas,
  light: Light,
  near: number,
  shore: number,
  windows: number,
  random: Random,
) {
  const { width, height } = canvas;
  const base = light.isDark
    ? mix(hex("#2d3f66"), hex("#0a1020"), near)
    : mix(light.haze, lit(hex("#3d4658"), 0.35 + 0.65 * light.ground[0]), 0.25 + 0.7 * near);
  const unit = Math.max(2, Math.round(height * (0.0052 + 0.0032 * near)));
  let x = -random() * height * 0.1;
  while (x < width) {
    const columns = 5 + Math.floor(random() * (7 + 3 * near));
    const wide = columns * unit;
    const middle = 1 - Math.abs((x + wide / 2) / width - 0.5) * 1.1;
    const tall = height * (0.1 + (0.46 - 0.2 * near) * random() ** 1.4 * middle + 0.12 * (1 - near));
    tower(
      canvas,
      Math.round(x),
      Math.round(shore - tall),
      wide,
      shore,
      unit,
      lit(base, 0.88 + 0.24 * random()),
      light,
      windows * (0.35 + near * 0.65),
      near,
      random,
    );
    x += wide + (random() < 0.3 ? unit * Math.floor(random() * 5) : unit * 0.4);
  }
}

function tower(
  canvas: Canvas,
  left: number,
  top: number,
  wide: number,
  shore: number,
  unit: number,
  color: Color,
  light: Light,
  windows: number,
  near: number,
  random: Random,
) {
  const { height } = canvas;
  const lamp = lamps[Math.floor(random() * lamps.length)] ?? [1, 1, 1];
  const busy = windows * (0.4 + random() * 1.1);
  const step = random() < 0.45 ? unit * (1 + Math.floor(random() * 3)) : 0;
  const stepAt = top + (shore - top) * (0.1 + 0.15 * random());
  const strips = random() < 0.25;
  for (let y = top; y < shore; y++) {
    const inset = step > 0 && y < stepAt ? step : 0;
    const down = (y - top) / height;
    for (let x = left + inset; x < left + wide - inset; x++) {
      const side = (x - left) / wide;
      put(canvas, x, y, color, 1, 1.12 - 0.34 * side + 0.1 * down);
      put(canvas, x, y, light.haze, 0.3 * (1 - near) * ((y - top) / (shore - top)));
    }
  }
  const gap = Math.max(1, Math.round(unit * 0.4));
  const rowStep = unit + Math.round(unit * 0.45);
  for (let y = top + unit; y < shore - unit; y += rowStep) {
    const floorLit = strips && random() < busy * 0.9;
    for (let x = left + gap; x + unit - gap <= left + wide; x += unit) {
      const inset = step > 0 && y < stepAt ? step : 0;
      if (x < left + inset || x >= left + wide - inset) continue;
      const isLit = strips ? floorLit && random() < 0.92 : random() < busy;
      const bright = isLit ? 0.45 + 0.55 * random() : 0;
      for (let dy = 0; dy < rowStep - gap - 1; dy++)
        for (let dx = 0; dx < unit - gap; dx++) {
          if (isLit) put(canvas, x + dx, y + dy, lamp, 0.5 + 0.5 * near, bright);
          else shine(canvas, x + dx, y + dy, light.sky[2] ?? light.haze, light.isDark ? 0.05 : 0.16);
        }
      if (isLit && near > 0.6 && random() < 0.3)
        glow(canvas, x + unit / 2, y + unit / 2, unit * 2.8, lamp, 0.2);
    }
  }
  if (random() < 0.22 * windows * 2 && near > 0.3) sign(canvas, left, top, wide, unit, random);
  if (random() < 0.3) mast(canvas, left + wide / 2, top, unit, color, light.isDark, random);
}

function mast(
  canvas: Canvas,
  x: number,
  top: number,
  unit: number,
  color: Color,
  isDark: boolean,
  random: Random,
) {
  const tall = unit * (5 + random() * 9);
  for (let y = 0; y < tall; y++)
    put(canvas, Math.round(x), Math.round(top - y), color, 0.9 - (0.4 * y) / tall);
  if (isDark) glow(canvas, x, top - tall, unit * 1.5, hex("#ff5040"), 0.9);
}

function sign(canvas: Canvas, left: number, top: number, wide: number, unit: number, random: Random) {
  const color = signs[Math.floor(random() * signs.length)] ?? [1, 1, 1];
  const tall = unit * (6 + Math.floor(random() * 8));
  const x = left + (random() < 0.5 ? unit : wide - 2 * unit);
  const start = top + unit * 3;
  for (let dy = 0; dy < tall; dy++)
    for (let dx = 0; dx < unit; dx++) put(canvas, x + dx, start + dy, color, 0.92);
  for (let dy = 0; dy < tall; dy += unit * 2) glow(canvas, x + unit / 2, start + dy, unit * 5, color, 0.22);
}
