import { drawable, GLYPH_HEIGHT, GLYPH_WIDTH, type Glyph, glyphOf } from "./font.js";

/** Size of a picture, and the text on it. */
export interface LetteredPicture {
  readonly width: number;
  readonly height: number;
  /** Short texts, one line each. */
  readonly captions: readonly string[];
  /** Text below the captions, on several lines, up to a limit. */
  readonly text: string;
}

/** Text of a picture, as rows of pixels. */
export interface Lettering {
  /** First row of the band behind the text. */
  readonly top: number;
  /** Inked parts of a row, as first column and column after the last. */
  readonly runs: (y: number) => Iterable<readonly [from: number, to: number]>;
}

const LEAST_COLUMNS = 44;
const MOST_LINES = 9;
const ADVANCE = GLYPH_WIDTH + 1;
const LINE = GLYPH_HEIGHT + 4;
const MARGIN = 5;

/** Sets the captions and the text in lines of 44 or more characters, smaller on a picture that is wide and low. */
export function letter({ width, height, captions, text }: LetteredPicture): Lettering {
  const room = Math.min(width, 1.5 * height);
  const scale = Math.max(1, Math.floor(room / (LEAST_COLUMNS * ADVANCE + 2 * MARGIN)));
  const columns = Math.floor((width / scale - 2 * MARGIN) / ADVANCE);
  const lines = linesOf(captions, text, columns).map((line) => line.map(glyphOf));
  const top = height - (lines.length * LINE + 2 * MARGIN - (LINE - GLYPH_HEIGHT)) * scale;
  return { top, runs };

  function* runs(y: number): Generator<readonly [number, number]> {
    const dot = Math.floor((y - top) / scale) - MARGIN;
    const rowOfGlyph = dot % LINE;
    const line = lines[Math.floor(dot / LINE)];
    if (!line || rowOfGlyph < 0 || rowOfGlyph >= GLYPH_HEIGHT) return;
    for (const [at, glyph] of line.entries())
      for (const column of inked(glyph, rowOfGlyph)) {
        const from = (MARGIN + at * ADVANCE + column) * scale;
        yield [from, from + scale];
      }
  }
}

function* inked(glyph: Glyph, row: number): Generator<number> {
  const bits = glyph[row] ?? 0;
  for (let column = 0; column < GLYPH_WIDTH; column++)
    if (bits & (1 << (GLYPH_WIDTH - 1 - column))) yield column;
}

function linesOf(captions: readonly string[], text: string, columns: number): string[][] {
  const lines = [...captions.map(drawable), ...wrapped(drawable(text), columns)];
  const short = lines.map((line) => line.slice(0, columns));
  if (short.length <= MOST_LINES) return short;
  const last = short[MOST_LINES - 1]?.slice(0, columns - 3) ?? [];
  return [...short.slice(0, MOST_LINES - 1), [...last, ..."..."]];
}

/** Breaks text into lines at spaces, or within a word that is longer than a line. */
function wrapped(signs: readonly string[], columns: number): string[][] {
  const lines: string[][] = [];
  let rest = signs;
  while (rest.length > 0) {
    const space = rest.length > columns ? rest.lastIndexOf(" ", columns) : -1;
    const end = space > 0 ? space : columns;
    lines.push(rest.slice(0, end));
    rest = rest.slice(rest[end] === " " ? end + 1 : end);
  }
  return lines;
}
