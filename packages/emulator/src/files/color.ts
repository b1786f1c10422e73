/** Converts a hue in degrees, saturation and lightness (0 to 1) to `#rrggbb`. */
export function hsl(hue: number, saturation: number, lightness: number): string {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const part = (offset: number) => {
    const at = (offset + hue / 30) % 12;
    return 255 * (lightness - reach * Math.max(-1, Math.min(at - 3, 9 - at, 1)));
  };
  return hexOf([part(0), part(8), part(4)]);
}

/** Writes red, green and blue (0 to 255) as `#rrggbb`. */
export function hexOf(parts: readonly number[]): string {
  return `#${parts.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

/** Reads red, green and blue (0 to 255) of `#rrggbb`. */
export function partsOf(color: string): readonly [red: number, green: number, blue: number] {
  const part = (at: number) => Number.parseInt(color.slice(at, at + 2), 16);
  return [part(1), part(3), part(5)];
}
