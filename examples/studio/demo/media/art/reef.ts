import { type Canvas, drawGlow, fillRun, putPixel } from "./canvas.ts";
import { brighten, type Color, mix, parseHex, pickColor } from "./color.ts";
import { createNoise, layerNoise, type Random, smoothStep } from "./noise.ts";
import { sample } from "./sky.ts";
import type { Subject } from "./subject.ts";

const corals = ["#ff7d63", "#f25c8a", "#ffb057", "#c86fd6", "#f6d365", "#63c7b2"].map(parseHex);
/** Pixels beyond the edges of a bank where its noise is still needed. */
const EDGE = 4;
/** Depth below the top of a bank where its spots end, as a share of the height. */
const SPOTTED = 0.3;

/** Paints a reef under water: rays of light from above, corals that fade with distance, and a school of fish. */
export function paintReef(canvas: Canvas, subject: Subject, seed: string, random: Random): void {
  const dark = subject.time === "night" ? 0.45 : subject.time === "dusk" ? 0.75 : 1;
  const [tint] = subject.tints;
  const plain = ["#bdf3ea", "#53c6d6", "#1c86b4", "#0f4f86", "#0a2d5c"].map(parseHex);
  const water = plain.map((color) => brighten(tint ? mix(color, tint, 0.3) : color, dark));
  paintWater(canvas, water, seed, random);
  const banks = Array.from({ length: 4 }, (_, layer) =>
    createBank(canvas, layer / 3, `${seed} bank ${layer}`),
  );
  for (const [layer, bank] of banks.entries()) {
    if (layer === 2) drawSchool(canvas, water, random);
    paintBank(canvas, bank, banks[layer + 1]?.tops, water, random);
  }
  drawBubbles(canvas, random);
}

function paintWater(
  { width, height, pixels }: Canvas,
  water: readonly Color[],
  seed: string,
  random: Random,
) {
  const noise = layerNoise(createNoise(`${seed} rays`), 3);
  const sunX = 0.25 + random() * 0.5;
  const table = Array.from({ length: height }, (_, y) => pickColor(water, (y / height) ** 0.85));
  const rays = sample(width, height, 3, (x, y) => {
    const down = Math.min(1, y / height);
    const angle = (x / width - sunX) / (down + 0.35);
    const ray = smoothStep(-0.1, 0.75, noise(angle * 7, 2.5) + 0.35 * noise(angle * 19, 7));
    const near = Math.exp(-((x / width - sunX) ** 2) * 7) * (1 - down) ** 2;
    return 0.55 * ray * (1 - down) ** 1.4 * Math.exp(-angle * angle * 1.8) + 0.32 * near;
  });
  for (let y = 0; y < height; y++) {
    const color = table[y] as Color;
    const surface = Math.max(0, 1 - (y / height) * 9);
    for (let x = 0; x < width; x++) {
      const glint =
        surface > 0 ? surface * smoothStep(0.1, 0.7, noise((x / height) * 9, (y / height) * 40)) : 0;
      const amount = Math.min(1, rays(x, y) + glint * 0.5);
      const at = 3 * (y * width + x);
      pixels[at] = color[0] + (0.88 - color[0]) * amount;
      pixels[at + 1] = color[1] + (1 - color[1]) * amount;
      pixels[at + 2] = color[2] + (0.96 - color[2]) * amount;
    }
  }
}

type Bank = ReturnType<typeof createBank>;

/** Shapes a bank of the reef; `near` is 0 for the farthest and 1 for the nearest. */
function createBank({ width, height }: Canvas, near: number, seed: string) {
  const noise = createNoise(seed);
  const shape = layerNoise(noise, 5);
  const tops = Float32Array.from({ length: width }, (_, x) => {
    const u = x / height;
    const side = Math.abs(x / width - 0.5) * 0.42 * (0.4 + near);
    return height * (0.72 + 0.17 * near - side - 0.13 * shape(u * (1.6 + near), 1));
  });
  return { near, noise, tops };
}

/** Paints a bank with its corals, down to where the next one stands before it. */
function paintBank(
  canvas: Canvas,
  { near, noise, tops }: Bank,
  next: Float32Array | undefined,
  water: readonly Color[],
  random: Random,
) {
  const { width, height, pixels } = canvas;
  const grains = layerNoise(noise, 3);
  const spots = layerNoise(noise, 3);
  const highest = Math.max(0, Math.floor(tops.reduce((one, other) => Math.min(one, other), height)));
  const lowest = next
    ? [tops, next].reduce((most, line) => line.reduce((one, other) => Math.max(one, other), most), 0)
    : height;
  const rows = Math.max(0, Math.min(height, Math.ceil(lowest) + 2) - highest);
  // the noise is computed where the bank is seen
  const isSeen = (x: number, y: number, deep: number) => {
    const column = Math.min(width - 1, x);
    const top = tops[column] as number;
    return y > top - EDGE && y < Math.min(top + deep, next?.[column] ?? height) + EDGE;
  };
  const grained = sample(width, rows, 2, (x, down) =>
    isSeen(x, highest + down, height) ? grains((x / height) * 14, ((highest + down) / height) * 14) : 0,
  );
  const spotted = sample(width, rows, 2, (x, down) =>
    isSeen(x, highest + down, SPOTTED * height)
      ? spots((x / height) * 34, ((highest + down) / height) * 34 + 9)
      : 0,
  );
  const far = mix(water[2] ?? [0, 0, 0], water[3] ?? [0, 0, 0], 0.4);
  const stone = mix(far, parseHex("#3f5a74"), 0.2 + 0.7 * near);
  const count = Math.round((16 + 10 * (1 - near)) * Math.max(1, (width / height) * 0.8));
  for (let coral = 0; coral < count; coral++) {
    const x = random() * width;
    const y = (tops[Math.min(width - 1, Math.floor(x))] as number) + height * 0.012;
    const color = mix(far, corals[Math.floor(random() * corals.length)] ?? stone, 0.22 + 0.72 * near);
    const size = height * (0.035 + 0.075 * near) * (0.6 + 0.8 * random());
    const kind = random();
    if (kind < 0.4)
      drawBranch(canvas, x, y, -Math.PI / 2 + (random() - 0.5) * 0.4, size, size * 0.16, color, random, 5);
    else if (kind < 0.7) drawDome(canvas, x, y, size * 0.62, color, random);
    else drawKelp(canvas, x, y, size * 2.1, mix(color, parseHex("#4f9a5b"), 0.75), random);
  }
  for (let x = 0; x < width; x++) {
    const color = corals[(((x / height) * 5 + near * 3) | 0) % corals.length] ?? stone;
    const top = tops[x] as number;
    const end = next ? Math.ceil(Math.max(top, next[x] as number)) + 1 : height;
    for (let y = Math.max(0, Math.floor(top)); y < Math.min(height, end); y++) {
      const down = (y - top) / height;
      const rough = grained(x, y - highest);
      const lightness = 1.05 + 0.4 * rough + 0.4 * smoothStep(0.1, 0, down) - down * 0.9;
      const fade = (0.3 + 0.45 * near) * smoothStep(SPOTTED, 0, down);
      const bloom = fade > 0 ? fade * smoothStep(0.2, 0.42, spotted(x, y - highest)) : 0;
      const at = 3 * (y * width + x);
      for (let part = 0; part < 3; part++) {
        const value = (stone[part] as number) * lightness;
        pixels[at + part] = value + ((color[part] as number) * (0.4 + 0.4 * near) - value) * bloom;
      }
    }
  }
}

/** Draws a coral that forks. */
function drawBranch(
  canvas: Canvas,
  x: number,
  y: number,
  angle: number,
  length: number,
  thick: number,
  color: Color,
  random: Random,
  left: number,
): void {
  const steps = Math.max(2, Math.ceil(length / Math.max(1, thick)) * 2);
  const across = (Math.cos(angle) * length) / steps;
  const down = (Math.sin(angle) * length) / steps;
  let px = x;
  let py = y;
  for (let step = 0; step < steps; step++) {
    px += across;
    py += down;
    drawBall(canvas, px, py, thick * (1 - (0.3 * step) / steps), color);
  }
  if (left === 0 || thick < 0.8) return;
  const forks = left > 3 ? 3 : 2;
  for (let fork = 0; fork < forks; fork++) {
    const turn = (fork - (forks - 1) / 2) * 0.75 + (random() - 0.5) * 0.35;
    drawBranch(
      canvas,
      px,
      py,
      angle + turn,
      length * 0.68,
      thick * 0.72,
      brighten(color, 1.05),
      random,
      left - 1,
    );
  }
}

/** Draws a ball that is lit from above. */
function drawBall(canvas: Canvas, x: number, y: number, radius: number, color: Color) {
  for (let dy = Math.floor(-radius); dy <= radius + 1; dy++) {
    const half = Math.sqrt(Math.max(0, radius * radius - dy * dy));
    if (half > 0)
      fillRun(canvas, Math.round(y) + dy, x - half, x + half, color, 0.95, 1.02 - 0.26 * (dy / radius));
  }
}

function drawDome(canvas: Canvas, x: number, y: number, radius: number, color: Color, random: Random) {
  const twist = random() * 9;
  for (let dy = Math.floor(-radius); dy <= radius * 0.4; dy++) {
    const half = Math.sqrt(Math.max(0, radius * radius - dy * dy)) * 1.25;
    for (let dx = -half; dx <= half; dx++) {
      const groove = Math.sin((dx / radius) * 13 + Math.sin((dy / radius) * 11 + twist) * 2.2);
      const light = 0.86 - 0.4 * (dy / radius) + 0.13 * groove - 0.2 * Math.abs(dx / half);
      putPixel(
        canvas,
        Math.round(x + dx),
        Math.round(y) + dy,
        color,
        Math.min(1, half - Math.abs(dx)),
        light,
      );
    }
  }
}

function drawKelp(canvas: Canvas, x: number, y: number, length: number, color: Color, random: Random) {
  const phase = random() * 9;
  for (let step = 0; step < length; step++) {
    const up = step / length;
    const sway = Math.sin(up * 5 + phase) * length * 0.07 * up;
    const half = Math.max(0.6, length * 0.028 * (1 - up) * (1.1 + 0.5 * Math.sin(up * 34)));
    fillRun(canvas, Math.round(y - step), x + sway - half, x + sway + half, color, 0.95, 0.7 + 0.55 * up);
  }
}

function drawSchool(canvas: Canvas, water: readonly Color[], random: Random) {
  const { width, height } = canvas;
  const groups = 2 + Math.floor(random() * 2);
  for (let group = 0; group < groups; group++) {
    const [cx, cy] = [(0.18 + 0.64 * random()) * width, (0.24 + 0.3 * random()) * height];
    const facing = random() < 0.5 ? -1 : 1;
    const color = mix(water[3] ?? [0, 0, 0], corals[group + 2] ?? [1, 1, 1], group === 0 ? 0.85 : 0.3);
    for (let fish = 0; fish < 13; fish++) {
      const size = height * (group === 0 ? 0.017 : 0.011) * (0.8 + 0.5 * random());
      const along = (random() + random() - 1) * width * 0.13;
      drawFish(canvas, cx + along, cy + (random() + random() - 1) * height * 0.09, size, facing, color);
    }
  }
}

function drawFish(canvas: Canvas, x: number, y: number, size: number, facing: number, color: Color) {
  for (let dx = -size * 1.9; dx <= size * 1.2; dx++) {
    const along = dx / size;
    const body = along > -1.1 ? Math.sqrt(Math.max(0, 1 - (along / 1.15) ** 2)) * 0.48 : 0;
    const tail = along < -0.85 ? (-0.85 - along) * 0.52 : 0;
    const half = Math.max(body, tail) * size;
    for (let dy = -half; dy <= half; dy++) {
      const light = 1.1 - 0.5 * (dy / Math.max(1, half));
      putPixel(canvas, Math.round(x + dx * facing), Math.round(y + dy), color, 0.95, light);
    }
  }
  putPixel(canvas, Math.round(x + size * 0.72 * facing), Math.round(y - size * 0.1), [0.05, 0.08, 0.12], 0.9);
}

function drawBubbles(canvas: Canvas, random: Random) {
  const { width, height } = canvas;
  for (let bubble = 0; bubble < 70; bubble++)
    drawGlow(
      canvas,
      random() * width,
      random() * height,
      height * (0.0015 + 0.004 * random()),
      [0.8, 1, 1],
      0.35,
    );
}
