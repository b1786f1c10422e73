/** Red, green and blue, each from 0 to 1. */
export type Color = readonly [red: number, green: number, blue: number];

/** Reads `#rrggbb`. */
export function parseHex(text: string): Color {
  const part = (at: number) => Number.parseInt(text.slice(at, at + 2), 16) / 255;
  return [part(1), part(3), part(5)];
}

/** Mixes two colors; 0 is the first one. */
export function mix(one: Color, other: Color, share: number): Color {
  return [
    one[0] + (other[0] - one[0]) * share,
    one[1] + (other[1] - one[1]) * share,
    one[2] + (other[2] - one[2]) * share,
  ];
}

/** Makes a color lighter (above 1) or darker (below 1). */
export function brighten(color: Color, factor: number): Color {
  return [color[0] * factor, color[1] * factor, color[2] * factor];
}

/** Finds the color at `share` of a list of colors at equal distances. */
export function pickColor(colors: readonly Color[], share: number): Color {
  const position = Math.min(0.9999, Math.max(0, share)) * (colors.length - 1);
  const index = Math.floor(position);
  const first = colors[index] ?? BLACK;
  return mix(first, colors[index + 1] ?? first, position - index);
}

/** Steps of a table of colors. */
const STEPS = 1024;

/** Tabulates {@link pickColor}: `at(share)` is where red, green and blue of a color are in `values`. */
export function createTable(colors: readonly Color[]) {
  const values = new Float32Array(3 * (STEPS + 1));
  for (let step = 0; step <= STEPS; step++) values.set(pickColor(colors, step / STEPS), 3 * step);
  const at = (share: number) => 3 * Math.round(Math.min(1, Math.max(0, share)) * STEPS);
  return { values, at };
}

/** Converts a hue in degrees, saturation and lightness. */
export function convertHSL(hue: number, saturation: number, lightness: number): Color {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const part = (offset: number) => {
    const at = (offset + hue / 30) % 12;
    return lightness - reach * Math.max(-1, Math.min(at - 3, 9 - at, 1));
  };
  return [part(0), part(8), part(4)];
}

const BLACK: Color = [0, 0, 0];
