/** Converts a hue in degrees, saturation and lightness (0 to 1) to `#rrggbb`. */
export function formatHSL(hue: number, saturation: number, lightness: number): string {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const toComponent = (offset: number) => {
    const at = (offset + hue / 30) % 12;
    return 255 * (lightness - reach * Math.max(-1, Math.min(at - 3, 9 - at, 1)));
  };
  return formatRGB([toComponent(0), toComponent(8), toComponent(4)]);
}

/** Formats red, green and blue (0 to 255) as `#rrggbb`. */
export function formatRGB(parts: readonly number[]): string {
  return `#${parts.map((parseComponent) => Math.round(parseComponent).toString(16).padStart(2, "0")).join("")}`;
}

/** Parses `#rrggbb` into red, green and blue (0 to 255). */
export function parseRGB(color: string): readonly [red: number, green: number, blue: number] {
  const parseComponent = (at: number) => Number.parseInt(color.slice(at, at + 2), 16);
  return [parseComponent(1), parseComponent(3), parseComponent(5)];
}
