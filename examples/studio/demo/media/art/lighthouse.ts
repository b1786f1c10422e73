import { type Canvas, glow, run, shine } from "./canvas.ts";
import { hex, lit, mix } from "./color.ts";
import { layered, noiseOf, randomOf } from "./noise.ts";
import type { Light } from "./sky.ts";

interface Place {
  readonly light: Light;
  /** Says if there is mist or rain, which shows the beam by day. */
  readonly isHazy: boolean;
  /** Share of the height. */
  readonly horizon: number;
  /** Place of the sun: the lighthouse stands on the other side. */
  readonly sunX: number;
}

const BANDS = 5;
const WHITE = hex("#f3f0e6");
const RED = hex("#c23b30");
const STONE = hex("#3d3a3c");

/** Paints a lighthouse on a rock in the sea, with its lamp, and its beam where it is dark. */
export function paintLighthouse(canvas: Canvas, place: Place, seed: string): void {
  const { width, height } = canvas;
  const random = randomOf(`${seed} lighthouse`);
  const { light, isHazy, horizon, sunX } = place;
  const isRight = sunX < 0.5;
  const x = width * (isRight ? 0.68 + 0.1 * random() : 0.22 + 0.1 * random());
  // a narrow picture has a narrow tower, but a high one
  const unit = Math.min(height, 1.4 * width);
  const foot = height * (horizon + 0.02);
  const tall = unit * (0.3 + 0.05 * random());
  paintRock(canvas, x, foot, unit, light, seed);
  const top = foot - tall;
  if (light.isDark || isHazy) paintBeams(canvas, x, top - unit * 0.016, unit, isRight);
  paintTower(canvas, x, foot, tall, unit, light, isRight);
  paintLantern(canvas, x, top, unit, light);
}

/** Paints a mound of stone, broad at the water. */
function paintRock(canvas: Canvas, x: number, foot: number, unit: number, light: Light, seed: string) {
  const noise = layered(noiseOf(`${seed} rock`), 4);
  const base = mix(STONE, light.haze, 0.12);
  const [reach, tall] = [unit * 0.2, unit * 0.075];
  for (let column = Math.floor(x - reach); column <= x + reach; column++) {
    const away = (column - x) / reach;
    const rise = tall * Math.sqrt(Math.max(0, 1 - away * away)) * (1 + 0.5 * noise(column / unit / 0.05, 2));
    const bottom = foot + unit * 0.028 * (1 - Math.abs(away)) + unit * 0.006 * noise(column / unit / 0.02, 9);
    for (let y = Math.floor(foot - rise + tall * 0.45); y <= bottom; y++) {
      const grain = 1 + 0.45 * noise(column / unit / 0.016, y / unit / 0.012);
      const shade = (0.55 + 0.5 * light.ground[0]) * grain * (y > foot ? 0.6 : 1);
      run(canvas, y, column, column + 1, base, 1, shade);
    }
  }
}

/** Paints the tower row by row: it tapers, is lit from one side, and has bands. */
function paintTower(
  canvas: Canvas,
  x: number,
  foot: number,
  tall: number,
  unit: number,
  light: Light,
  isLitLeft: boolean,
) {
  const strength = light.isDark ? 0.5 : 1;
  for (let y = Math.round(foot - tall); y <= foot; y++) {
    const down = 1 - (foot - y) / tall;
    const half = unit * (0.019 + 0.014 * down ** 1.3);
    const paint = Math.floor(down * BANDS) % 2 === 0 ? WHITE : RED;
    const color = mix(paint, light.haze, light.isDark ? 0.3 : 0.12);
    for (let column = Math.floor(x - half); column <= x + half; column++) {
      const across = (column + 0.5 - x) / half;
      const round = 0.95 - 0.45 * Math.max(0, isLitLeft ? across : -across) ** 1.5;
      run(canvas, y, Math.max(column, x - half), Math.min(column + 1, x + half), color, 1, round * strength);
    }
  }
}

/** Paints the gallery, the glass with the lamp, and the roof. */
function paintLantern(canvas: Canvas, x: number, top: number, unit: number, light: Light) {
  const dark = lit(mix(STONE, light.haze, 0.1), light.isDark ? 0.6 : 0.9);
  const part = (from: number, to: number, halfOf: (share: number) => number, color = dark) => {
    for (let y = Math.round(top - from * unit); y < Math.round(top - to * unit); y++) {
      const half = unit * halfOf((y - (top - from * unit)) / ((from - to) * unit));
      run(canvas, y, x - half, x + half, color);
    }
  };
  part(0.006, -0.004, () => 0.03);
  part(0.032, 0.006, () => 0.015, hex("#ffe9a8"));
  part(0.052, 0.032, (share) => 0.004 + 0.016 * share);
  part(0.066, 0.052, () => 0.002);
  for (const bar of [-0.015, -0.005, 0.005, 0.015])
    for (let y = Math.round(top - 0.032 * unit); y < top - 0.006 * unit; y++)
      run(canvas, y, x + (bar - 0.0012) * unit, x + (bar + 0.0012) * unit, dark);
  const lamp = hex("#fff3c4");
  glow(canvas, x, top - 0.018 * unit, unit * 0.05, lamp, 0.9);
  glow(canvas, x, top - 0.018 * unit, unit * 0.16, lamp, light.isDark ? 0.5 : 0.18);
}

/** Paints a beam to each side: bright at the lamp, and gone at the edge of the picture. */
function paintBeams(canvas: Canvas, x: number, y: number, unit: number, isRight: boolean) {
  const lamp = hex("#ffeebb");
  const tilt = isRight ? -0.1 : 0.1;
  for (let column = 0; column < canvas.width; column++) {
    const away = Math.abs(column - x);
    const middle = y + (column - x) * tilt;
    const half = unit * 0.006 + away * 0.075;
    const power = 0.6 * Math.exp(-away / (unit * 0.55));
    for (
      let row = Math.max(0, Math.floor(middle - half));
      row <= middle + half && row < canvas.height;
      row++
    ) {
      const off = (row - middle) / half;
      shine(canvas, column, row, lamp, power * (1 - off * off));
    }
  }
}
