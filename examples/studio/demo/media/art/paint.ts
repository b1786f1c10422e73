import { type Canvas, createCanvas, drawGlow, finishImage, putPixel } from "./canvas.ts";
import { type Color, mix } from "./color.ts";
import { paintLight } from "./light.ts";
import { paintMountains } from "./mountains.ts";
import { createRandom, type Random } from "./noise.ts";
import { paintReef } from "./reef.ts";
import type { Scene } from "./scenes.ts";
import { paintSea } from "./sea.ts";
import { readSubject, type Subject } from "./subject.ts";

/** Request for an image. Equal requests paint equal pixels. */
export interface PaintRequest {
  readonly width: number;
  readonly height: number;
  readonly prompt: string;
  /** Prompt of a reference; empty for none. */
  readonly base: string;
  /** Seed of all that the prompt leaves open. */
  readonly seed: string;
  /** Index in a set, from 0. */
  readonly index: number;
  /** Colors of a reference image. */
  readonly palette: readonly Color[];
}

/** Painted image: three bytes for each pixel. */
export interface Painting {
  readonly width: number;
  readonly height: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

type Painter = (canvas: Canvas, subject: Subject, seed: string, random: Random) => void;

const painters: Readonly<Record<Scene, Painter>> = {
  mountains: paintMountains,
  sea: paintSea,
  reef: paintReef,
  light: paintLight,
};

/** Paints what a prompt says. */
export function paint({ width, height, prompt, base, seed, index, palette }: PaintRequest): Painting {
  const read = readSubject(prompt, base, seed, index);
  const subject =
    palette.length > 0
      ? { ...read, tints: read.tints.length > 1 ? read.tints : [...read.tints, ...palette] }
      : read;
  const canvas = createCanvas(width, height);
  const random = createRandom(`${seed} ${subject.scene}`);
  painters[subject.scene](canvas, subject, seed, random);
  if (subject.scene !== "light" && subject.scene !== "reef") paintWeather(canvas, subject, random);
  return { width, height, bytes: finishImage(canvas, random) };
}

function paintWeather(canvas: Canvas, { rain, storm, season, scene }: Subject, random: Random) {
  const { width, height } = canvas;
  if (rain || (storm && scene === "sea")) {
    const drops = Math.round((rain ? 1500 : 500) * (width / height));
    for (let drop = 0; drop < drops; drop++)
      drawDrop(
        canvas,
        random() * width,
        random() * height,
        height * (0.012 + 0.035 * random()),
        0.05 + 0.11 * random(),
      );
  }
  if (season === "winter" && scene !== "sea")
    for (let flake = 0; flake < (260 * width) / height; flake++)
      drawGlow(
        canvas,
        random() * width,
        random() * height,
        height * (0.0012 + 0.0032 * random() ** 2),
        SNOW,
        0.6,
      );
}

const SNOW: Color = mix([0.85, 0.9, 1], [1, 1, 1], 0.5);

function drawDrop(canvas: Canvas, x: number, y: number, length: number, cover: number) {
  for (let step = 0; step < length; step++)
    putPixel(
      canvas,
      Math.round(x - step * 0.12),
      Math.round(y + step),
      SNOW,
      cover * Math.sin((Math.PI * step) / length),
    );
}
