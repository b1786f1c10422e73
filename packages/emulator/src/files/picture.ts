import { hash } from "../server/hash.js";
import { type LetteredPicture, type Lettering, letter } from "./lettering.js";
import type { Bitmap } from "./png.js";

/** Description of a picture. The same description makes the same pixels. */
export interface Picture extends LetteredPicture {
  /** Source of the pattern and its colours. */
  readonly seed: string;
}

const SHADES = 120;
const INK = 2 * SHADES;
const TURN = 1024;

/** Paints waves in three colours that the seed decides, and a darker band with the text at the foot. */
export function paint(picture: Picture): Bitmap {
  const { width, height, seed } = picture;
  const lettering = letter(picture);
  const waves = wavesOf(width, height, seed);
  return { width, height, palette: paletteOf(seed), fill };

  function fill(y: number, row: Uint8Array) {
    waves(y, row);
    if (y < lettering.top) return;
    for (let x = 0; x < width; x++) row[x] = (row[x] ?? 0) + SHADES;
    write(lettering, y, row);
  }
}

function write({ runs }: Lettering, y: number, row: Uint8Array) {
  for (const [from, to] of runs(y)) row.fill(INK, from, to);
}

/** Prepares two waves that bend each other. Values that depend on the column alone are computed once. */
function wavesOf(width: number, height: number, seed: string) {
  const [angle, fine, coarse, bend] = numbersOf(seed);
  const span = Math.max(width, height);
  const sine = Int16Array.from({ length: TURN }, (_, at) =>
    Math.round(((Math.sin((at / TURN) * 2 * Math.PI) + 1) * (SHADES - 1)) / 4),
  );
  const turns = (count: number) => (count * TURN) / span;
  const [across, along] = [Math.cos(angle * Math.PI), Math.sin(angle * Math.PI)];
  const first = turns(1 + 2 * fine);
  const second = turns(0.5 + coarse);
  const firstOfColumn = Int32Array.from({ length: width }, (_, x) => x * across * first);
  const secondOfColumn = Int32Array.from(
    { length: width },
    (_, x) => x * along * second + 90 * bend * Math.sin((x / span) * 7),
  );

  return (y: number, row: Uint8Array) => {
    const swing = 160 * (0.4 + bend) * Math.sin((y / span) * (4 + 5 * coarse));
    const firstOfRow = Math.round(y * along * first + swing);
    const secondOfRow = Math.round(-y * across * second - swing / 2);
    for (let x = 0; x < width; x++) {
      const a = sine[((firstOfColumn[x] ?? 0) + firstOfRow) & (TURN - 1)] ?? 0;
      const b = sine[((secondOfColumn[x] ?? 0) + secondOfRow + a) & (TURN - 1)] ?? 0;
      row[x] = a + b;
    }
  };
}

/** Makes the palette: shades over three hues, the same shades darker, and the ink. */
function paletteOf(seed: string): number[] {
  const [start, turn, light] = numbersOf(`${seed} colours`);
  const shades = Array.from({ length: SHADES }, (_, at) => {
    const share = at / (SHADES - 1);
    return colour(start * 360 + share * (80 + 120 * turn), 0.55 + 0.25 * light, 0.3 + 0.42 * share);
  });
  const darker = shades.map((shade) => shade.map((part) => Math.round(part * 0.32)));
  return [...shades, ...darker, [250, 250, 245]].flat();
}

/** Converts a hue in degrees to red, green and blue. */
function colour(hue: number, saturation: number, lightness: number): number[] {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  return [0, 8, 4].map((offset) => {
    const at = (offset + hue / 30) % 12;
    return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  });
}

/** Makes four numbers from 0 to 1 of a seed. */
function numbersOf(seed: string): [number, number, number, number] {
  const digits = hash(seed);
  const part = (at: number) => Number.parseInt(digits.slice(at * 4, at * 4 + 4), 16) / 0xffff;
  return [part(0), part(1), part(2), part(3)];
}
