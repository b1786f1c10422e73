import { type Canvas, glow, paintBlurred, shine } from "./canvas.ts";
import { type Color, hex, lit, mix, tableOf } from "./color.ts";
import { layered, noiseOf, type Random, smooth } from "./noise.ts";
import { sampled } from "./sky.ts";
import { colorsOf, type Subject } from "./subject.ts";

/** Paints deep space: clouds of gas, stars, a spiral galaxy or a planet if the prompt names one. */
export function paintSpace(canvas: Canvas, subject: Subject, seed: string, random: Random): void {
  const colors = colorsOf(subject, seed);
  paintGas(canvas, colors, seed, subject.galaxy ? 0.4 : 1);
  stars(canvas, random);
  if (subject.galaxy) paintSpiral(canvas, colors, seed, random);
  if (subject.planet) paintPlanet(canvas, colors, seed, random);
}

function paintGas(canvas: Canvas, colors: readonly Color[], seed: string, power: number) {
  const { width, height } = canvas;
  const noise = layered(noiseOf(`${seed} gas`), 5);
  const warp = layered(noiseOf(`${seed} warp`), 3);
  const deep = hex("#04060f");
  const ramp = tableOf([
    deep,
    lit(colors[0] ?? deep, 0.34),
    colors[0] ?? deep,
    mix(colors[1] ?? deep, [1, 1, 1], 0.12),
    [1, 0.97, 0.92],
  ]);
  const other = colors[1] ?? colors[0] ?? deep;
  paintBlurred(canvas, 4, (x, y, pixel) => {
    const u = (x / height) * 1.5;
    const v = (y / height) * 1.5;
    const bend = warp(u, v);
    const value = noise(u + 1.5 * bend, v + 1.5 * warp(u + 5.2, v + 1.3));
    const center = Math.exp(-2.4 * ((x / width - 0.52) ** 2 + (y / height - 0.48) ** 2) * 2.2);
    const gas = Math.max(0, (value + 0.2) * 1.05) ** 1.4 * (0.5 + 0.75 * center);
    const amount = Math.min(1, gas * 1.25) * power;
    const second = smooth(-0.3, 0.5, warp(u * 0.8 + 7, v * 0.8 + 4));
    const share = second * Math.min(1, amount * 1.8) * 0.6;
    const dim = 1 - 0.5 * smooth(0.05, 0.5, noise((x / height) * 2.6 + 9, (y / height) * 2.6 + bend));
    const color = ramp.at(amount);
    for (let part = 0; part < 3; part++) {
      const one = ramp.values[color + part] as number;
      pixel[part] = (one + ((other[part] as number) * (0.35 + amount) - one) * share) * dim;
    }
  });
}

function stars(canvas: Canvas, random: Random) {
  const { width, height } = canvas;
  const count = Math.round((900 * width) / height);
  const size = Math.max(0.7, height / 1000);
  for (let star = 0; star < count; star++) {
    const bright = random() ** 7;
    const color = mix(hex("#bcd2ff"), hex("#ffe2bd"), random());
    const [x, y] = [random() * width, random() * height];
    glow(canvas, x, y, size * (1 + 2.4 * bright), color, 0.25 + 0.75 * random() * (0.4 + bright));
    if (bright > 0.93) flare(canvas, x, y, height * 0.028 * bright, color);
  }
}

/** Draws the cross and the halo of a bright star. */
function flare(canvas: Canvas, x: number, y: number, reach: number, color: Color) {
  glow(canvas, x, y, reach * 0.9, color, 0.4);
  for (let step = -reach; step <= reach; step++) {
    const amount = 0.75 * (1 - Math.abs(step) / reach) ** 2;
    shine(canvas, Math.round(x + step), Math.round(y), color, amount);
    shine(canvas, Math.round(x), Math.round(y + step), color, amount);
  }
}

function paintSpiral(
  { width, height, pixels }: Canvas,
  colors: readonly Color[],
  seed: string,
  random: Random,
) {
  const noise = layered(noiseOf(`${seed} arms`), 4);
  const [tilt, turn, arms] = [0.45 + random() * 0.2, random() * Math.PI, 2 + Math.floor(random() * 2)];
  const cos = Math.cos(turn);
  const sin = Math.sin(turn);
  const size = Math.min(width, height) * 0.46;
  const light = sampled(width, height, 3, (x, y) => {
    const dx = (x - width / 2) / size;
    const dy = (y - height / 2) / size;
    const px = dx * cos + dy * sin;
    const py = (dy * cos - dx * sin) / tilt;
    const away = Math.sqrt(px * px + py * py);
    if (away > 1.7) return 0;
    const angle = Math.atan2(py, px);
    const arm = 0.5 + 0.5 * Math.cos(arms * (angle - 3.1 * Math.log(away + 0.06)));
    const rough = 0.65 + 0.9 * noise(px * 5, py * 5);
    return (
      Math.exp(-away * away * 30) * 1.1 +
      arm ** 1.7 * rough * Math.exp(-away * 1.35) * 1.1 * smooth(1.7, 0.8, away)
    );
  });
  const edge = colors[0] ?? hex("#6f8cff");
  const ramp = tableOf([edge, mix(edge, colors[1] ?? edge, 0.5), hex("#fff0d8"), [1, 1, 0.97]]);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const amount = Math.max(0, light(x, y));
      if (amount < 0.004) continue;
      const color = ramp.at(amount * 0.9);
      const at = 3 * (y * width + x);
      for (let part = 0; part < 3; part++) {
        const before = pixels[at + part] as number;
        pixels[at + part] =
          before + (1 - Math.min(1, before)) * (ramp.values[color + part] as number) * Math.min(1, amount);
      }
    }
}

function paintPlanet(
  { width, height, pixels }: Canvas,
  colors: readonly Color[],
  seed: string,
  random: Random,
) {
  const noise = layered(noiseOf(`${seed} planet`), 5);
  const radius = Math.min(width, height) * (0.24 + 0.06 * random());
  const [cx, cy] = [width * (0.36 + 0.3 * random()), height * (0.46 + 0.14 * random())];
  const surface = tableOf([
    lit(colors[0] ?? [1, 1, 1], 0.55),
    colors[0] ?? [1, 1, 1],
    mix(colors[1] ?? [1, 1, 1], [1, 1, 1], 0.35),
  ]);
  const haze = mix(colors[0] ?? [1, 1, 1], hex("#9fd8ff"), 0.6);
  const left = Math.max(0, Math.floor(cx - radius * 1.3));
  const top = Math.max(0, Math.floor(cy - radius * 1.3));
  const right = Math.min(width, Math.ceil(cx + radius * 1.3));
  const bottom = Math.min(height, Math.ceil(cy + radius * 1.3));
  const bandsAt = sampled(right - left, bottom - top, 3, (x, y) => {
    const dx = (left + x - cx) / radius;
    const dy = (top + y - cy) / radius;
    return noise(dx * 1.2 + 0.4 * noise(dx * 3, dy * 3), dy * 4.6);
  });
  for (let y = top; y < bottom; y++)
    for (let x = left; x < right; x++) {
      const dx = (x - cx) / radius;
      const dy = (y - cy) / radius;
      const away = Math.sqrt(dx * dx + dy * dy);
      if (away > 1.3) continue;
      const z = Math.sqrt(Math.max(0, 1 - away * away));
      const sunlit = Math.max(0, -0.62 * dx - 0.45 * dy + 0.65 * z);
      const color = surface.at(0.5 + bandsAt(x - left, y - top) * 0.9);
      const inside = smooth(1.004, 0.992, away);
      const rim =
        Math.exp(-((Math.abs(away - 1) / (away > 1 ? 0.075 : 0.09)) ** 1.2)) *
        smooth(-0.35, 0.6, -0.62 * dx - 0.45 * dy);
      const at = 3 * (y * width + x);
      for (let part = 0; part < 3; part++) {
        const before = pixels[at + part] as number;
        const value =
          before + ((surface.values[color + part] as number) * (0.02 + 1.15 * sunlit) - before) * inside;
        pixels[at + part] = value + (1 - Math.min(1, value)) * (haze[part] as number) * rim * 0.75;
      }
    }
}
