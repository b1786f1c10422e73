import type { Canvas } from "./canvas.ts";
import { brighten, type Color, mix, parseHex } from "./color.ts";
import { createNoise, layerNoise, type Random, smoothStep } from "./noise.ts";
import { computeLight, paintSky } from "./sky.ts";
import type { Subject } from "./subject.ts";

/** Paints the open sea: a horizon, waves that grow towards the viewer, a path of light, and a beach if there is one. */
export function paintSea(canvas: Canvas, subject: Subject, seed: string, random: Random): void {
  const { width, height, pixels } = canvas;
  const light = computeLight(subject);
  const horizon = 0.5 + random() * 0.08;
  const sun = paintSky(canvas, subject, horizon, seed, random);
  const noise = layerNoise(createNoise(`${seed} waves`), 4);
  const fine = createNoise(`${seed} glitter`);
  const shade = light.isDark ? 0.5 : 1;
  const deep = brighten(mix(parseHex("#0c3b52"), light.sky[0] ?? light.haze, 0.45), 0.75 * shade);
  const shallow = mix(parseHex(subject.storm ? "#3b5a60" : "#2b8f95"), light.haze, 0.25);
  const shine = mix(light.haze, light.sky.at(-1) ?? light.haze, 0.6);
  const first = Math.round(horizon * height);
  const shoreAt = subject.beach ? 0.84 : 2;
  const rough = subject.storm ? 1.7 : 1;
  const waves = new Float32Array((width >> 1) + 2);
  const chops = new Float32Array(waves.length);
  for (let y = first; y < height; y++) {
    const down = (y - first + 0.5) / (height - first);
    // distance on the water: rows near the horizon are far apart
    const far = 1 / (down * 0.92 + 0.035);
    const path = 0.028 + down * 0.16;
    // the far edge melts into the sky
    const edge = smoothStep(0.05, 0, down) * 0.6;
    // waves are wide: those of every other pixel lie between their neighbors
    for (let at = 0; at < waves.length; at++) {
      const u = ((2 * at) / width - 0.5) * (width / height);
      waves[at] = noise(u * far * 1.05, far * 3.2) * rough;
      chops[at] = fine(u * far * 5, far * 15);
    }
    for (let x = 0; x < width; x++) {
      const left = x >> 1;
      const right = left + (x & 1);
      const wave = ((waves[left] as number) + (waves[right] as number)) / 2;
      const chop = ((chops[left] as number) + (chops[right] as number)) / 2;
      const slope = wave * 0.75 + chop * 0.3;
      const mirrorShare = Math.min(1, Math.max(0, 0.62 - down * 0.42 + slope * 0.42));
      const away = (x / width - sun.x) / path;
      const glitter =
        Math.exp(-away * away) *
        smoothStep(0.08, 0.7, slope + 0.42 - down * 0.2) *
        (subject.storm ? 0.15 : 0.95);
      const foam = subject.storm
        ? smoothStep(0.42, 0.7, wave + chop * 0.25) * down
        : smoothStep(0.62, 0.85, wave) * down * 0.35;
      const high = smoothStep(-0.1, 0.8, wave) * 0.7;
      const at = 3 * (y * width + x);
      for (let part = 0; part < 3; part++) {
        const body =
          (deep[part] as number) + ((shallow[part] as number) * shade - (deep[part] as number)) * high;
        let value = body + ((shine[part] as number) - body) * mirrorShare * 0.75;
        value += ((light.sun[part] as number) - value) * glitter;
        value += (0.92 * shade - value) * foam * 0.75;
        pixels[at + part] = value + ((light.haze[part] as number) - value) * edge;
      }
    }
  }
  if (shoreAt < 1) paintBeach(canvas, shoreAt, light.ground, seed);
}

function paintBeach({ width, height, pixels }: Canvas, shoreAt: number, light: Color, seed: string) {
  const bend = layerNoise(createNoise(`${seed} shore`), 4);
  const grains = createNoise(`${seed} sand`);
  const sand = parseHex("#d9bd8f");
  for (let x = 0; x < width; x++) {
    const u = x / height;
    const shore = (shoreAt + 0.05 * bend(u * 1.3, 1) + 0.05 * (u - 0.5)) * height;
    for (let y = Math.floor(shore - 0.05 * height); y < height; y++) {
      const on = (y - shore) / height;
      const lace = bend(u * 9, (y / height) * 14) * 0.012;
      const foam = smoothStep(0.022, 0, Math.abs(on + 0.012 + lace)) * 0.9;
      const wet = smoothStep(0.1, 0.01, on);
      const dry = smoothStep(-0.004, 0.01, on + lace * 0.5);
      const grain = 1 + 0.05 * grains(x * 0.6, y * 0.6) + 0.05 * bend(u * 6, (y / height) * 30);
      const at = 3 * (y * width + x);
      for (let part = 0; part < 3; part++) {
        const before = pixels[at + part] as number;
        const ground =
          (sand[part] as number) * (light[part] as number) * grain * (1 - 0.38 * wet) + before * 0.16 * wet;
        const value = before + (ground - before) * dry;
        pixels[at + part] = value + ((light[part] as number) * 0.98 - value) * foam;
      }
    }
  }
}
