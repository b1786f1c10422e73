import { type Canvas, drawGlow, paintBlurred } from "./canvas.ts";
import { brighten, createTable, mix, parseHex } from "./color.ts";
import { createNoise, layerNoise, type Random, smoothStep } from "./noise.ts";
import { sample } from "./sky.ts";
import { chooseColors, type Subject } from "./subject.ts";

/** Distance of the points at which the cloth is computed, in pixels. */
const STEP = 3;

/** Paints a portrait of light: folded veils around a glowing shape, in the colors of the prompt. */
export function paintLight(canvas: Canvas, subject: Subject, seed: string, random: Random): void {
  const { width, height } = canvas;
  const named = chooseColors(subject, seed);
  const [one = parseHex("#14958f"), two = parseHex("#ff7a64"), three = mix(one, two, 0.5)] = named;
  const night = subject.time === "night" || subject.time === "dusk";
  const ground = brighten(mix(one, parseHex("#0b1026"), 0.8), night ? 0.7 : 1);
  const warp = layerNoise(createNoise(`${seed} folds`), 2);
  const [cx, cy] = [0.5 + (random() - 0.5) * 0.24, 0.48 + (random() - 0.5) * 0.16];
  const [turn, folds] = [random() * Math.PI, 2.8 + random() * 1.8];
  const cos = Math.cos(turn);
  const sin = Math.sin(turn);
  const ramp = createTable([
    ground,
    brighten(one, 0.55),
    one,
    mix(two, three, 0.35),
    two,
    mix(two, [1, 0.98, 0.94], 0.72),
  ]);
  // the height of a folded cloth
  const cloth = sample(width + 2 * STEP, height + 2 * STEP, STEP, (x, y) => {
    const a = (x * cos + y * sin) / height;
    const b = (y * cos - x * sin) / height;
    const bend = warp(a * 0.8 + 3, b * 0.8);
    return (
      Math.sin(folds * (a * 2.4 + 1.5 * bend) + 1.6 * warp(b * 1.1, a * 0.6 + 7)) * 0.5 +
      0.5 * warp(a * 0.9 + 9, b * 1.3)
    );
  });
  paintBlurred(canvas, STEP, (x, y, pixel) => {
    const here = cloth(x, y);
    const rise = (cloth(x + STEP, y) - here) * 0.26 + (cloth(x, y + STEP) - here) * 0.38;
    const slope = (rise * height) / STEP;
    const dx = (x / width - cx) * (width / height);
    const dy = y / height - cy;
    const near = Math.exp(-(dx * dx + dy * dy) * 3.4);
    const value =
      0.1 +
      0.44 * near +
      0.28 * (here * 0.5 + 0.5) * (0.4 + near) +
      0.34 * smoothStep(-1, 1, slope) * (0.3 + 0.7 * near);
    const color = ramp.at(value);
    const edge = smoothStep(0.55, 1.25, slope) * (0.2 + 0.6 * near);
    for (let part = 0; part < 3; part++) {
      const before = ramp.values[color + part] as number;
      pixel[part] = before + (1 - before) * edge * (0.55 + 0.45 * (three[part] as number));
    }
  });
  const pale = mix(two, [1, 1, 1], 0.6);
  drawGlow(canvas, cx * width, cy * height, height * 0.34, pale, 0.5);
  for (let spark = 0; spark < 60; spark++) {
    const [angle, away] = [random() * 2 * Math.PI, random() ** 0.6 * height * 0.5];
    const [x, y] = [cx * width + Math.cos(angle) * away * 1.3, cy * height + Math.sin(angle) * away];
    drawGlow(canvas, x, y, height * (0.002 + 0.009 * random() ** 3), pale, 0.5 * random());
  }
}
