import { hash } from "../server/hash.js";
import { formatHSL, parseRGB } from "./color.js";
import type { Bitmap, ImageDescription } from "./media.js";

/** Maximum number of letters in a line of the caption, and of lines. */
const MAX_LETTERS = 24;
const MAX_LINES = 8;
/** Size of a letter in dots, without and with its margin. */
const GLYPH = { width: 5, height: 7 };
const CELL = { width: 6, height: 10 };
const WHITE = 255;
/** Minimum sum of the six color components of a gradient that needs black letters. */
const MIN_LIGHT = 900;

/** Weight of the reference in the colors of its image. The seed decides the rest. */
const REFERENCE = 0.75;

/** Draws a gradient in colors of the seed and the reference, with the prompt as a centered caption. */
export function drawBitmap(image: Omit<ImageDescription, "isLastFrame">): Bitmap {
  const { width, height, prompt, seed, index, colors } = image;
  const [top, bottom] = pickGradient(`${seed} ${index}`, colors);
  const light = [...top, ...bottom].reduce((sum, component) => sum + component, 0);
  const ink = light < MIN_LIGHT ? WHITE : 0;
  const lines = breakLines(prompt);
  // the largest dot with which the longest caption, and a margin of two cells on each side, fits
  const maxDot = Math.min(width / (CELL.width * (MAX_LETTERS + 4)), height / (CELL.height * (MAX_LINES + 2)));
  const dot = Math.max(1, Math.floor(maxDot));
  const captionTop = Math.round((height - dot * CELL.height * lines.length) / 2);
  return { width, height, fill };

  function fill(y: number, row: Uint8Array) {
    const share = height > 1 ? y / (height - 1) : 0;
    for (const part of [0, 1, 2] as const) row[part] = top[part] + (bottom[part] - top[part]) * share;
    // repeat the first pixel: each copy doubles the filled part
    for (let filled = 3; filled < row.length; filled *= 2) row.copyWithin(filled, 0, filled);
    const dotRow = Math.floor((y - captionTop) / dot);
    const line = lines[Math.floor(dotRow / CELL.height)];
    const glyphRow = dotRow % CELL.height;
    if (line !== undefined && glyphRow < GLYPH.height) drawRow(line, glyphRow, row);
  }

  /** Draws one row of dots of a line into a row of pixels. */
  function drawRow(line: string, glyphRow: number, row: Uint8Array) {
    const left = Math.round((width - dot * CELL.width * line.length) / 2);
    for (let at = 0; at < line.length; at++) {
      const glyph = (line.charCodeAt(at) - FIRST_LETTER) * GLYPH.height;
      const dots = Number.parseInt(FONT[glyph + glyphRow] ?? "0", 32);
      for (let column = 0; column < GLYPH.width; column++) {
        // the highest of the five bits is the left dot
        if ((dots & (16 >> column)) === 0) continue;
        const x = Math.max(0, left + dot * (CELL.width * at + column));
        row.fill(ink, 3 * x, 3 * (x + dot));
      }
    }
  }
}

/** Picks two rather dark colors, or two colors near the first and the last color of a reference. */
function pickGradient(seed: string, colors?: readonly string[]) {
  // four numbers from 0 to 1
  const [hue = 0, turn = 0, topLight = 0, bottomLight = 0] = (hash(seed).match(/.{4}/g) ?? []).map(
    (digits) => Number.parseInt(digits, 16) / 0x1_0000,
  );
  const topColor = formatHSL(360 * hue, 0.5, 0.36 + 0.1 * topLight);
  const bottomColor = formatHSL((360 * hue + 30 + 60 * turn) % 360, 0.55, 0.2 + 0.1 * bottomLight);
  return [mixColors(topColor, colors?.[0]), mixColors(bottomColor, colors?.at(-1))] as const;
}

function mixColors(own: string, reference = own) {
  const [from, to] = [parseRGB(own), parseRGB(reference)];
  const mix = (part: 0 | 1 | 2) => from[part] + (to[part] - from[part]) * REFERENCE;
  return [mix(0), mix(1), mix(2)] as const;
}

/** Breaks a text into lines of letters that the font has. Drops accents. A letter of another script becomes a box. */
function breakLines(text: string): readonly string[] {
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[“”]/g, '"')
    .replace(/[‘’]/g, "'")
    .replace(/[–—]/g, "-")
    .replace(/[\s\p{C}]+/gu, " ")
    .trim()
    .toUpperCase();
  const letters = [...plain].map((letter) => (/^[ -_]$/.test(letter) ? letter : BOX)).join("");
  const lines = letters.match(LINE) ?? [];
  const last = lines[MAX_LINES - 1];
  if (lines.length <= MAX_LINES || last === undefined) return lines.map((line) => line.trimEnd());
  return [...lines.slice(0, MAX_LINES - 1), `${last.slice(0, MAX_LETTERS - 3)}...`];
}

const LINE = new RegExp(`.{1,${MAX_LETTERS}}(?: |$)|\\S{${MAX_LETTERS}}`, "g");
/** Code of the space, the first letter of the font. */
const FIRST_LETTER = 32;
/** Stands for the box, which follows `_` in the font. */
const BOX = "`";
/** Seven rows of five dots for each letter from the space to `_`, then the box. One base-32 digit is one row. */
const FONT =
  "00000004444404aa00000aavavaa4fke5u4pp248jjcik8lid44000002488842842224804lel40044v4400000648000v000" +
  "00000cc11248ggehjlphe4c4444eeh1248vv2421he26aiv22vgu11he68guhhev124888ehhehheehhf12c0cc0cc00cc0c48" +
  "248g84200v0v008421248eh12404eh1dlleehhvhhhuhhuhhuehggghesihhhisvgguggvvggugggehgnhhfhhhvhhhe44444e" +
  "72222ichikokihggggggvhrllhhhhhpljhhehhhhheuhhugggehhhliduhhukihfgge11uv444444hhhhhhehhhhhha4hhhlla" +
  "hha4ahhhhha444v1248gve88888egg84211e22222e4ah0000000000vvhhhhhv";
