import { hash } from "../server/hash.js";

/**
 * Converts a hue in degrees, saturation and lightness (0 to 1) to `#rrggbb`, by the formula of CSS Color: the offsets 0,
 * 8 and 4 are red, green and blue.
 */
export function formatHSL(hue: number, saturation: number, lightness: number): string {
  const amplitude = saturation * Math.min(lightness, 1 - lightness);
  const toComponent = (offset: number) => {
    const position = (offset + hue / 30) % 12;
    return 255 * (lightness - amplitude * Math.max(-1, Math.min(position - 3, 9 - position, 1)));
  };
  const parts = [toComponent(0), toComponent(8), toComponent(4)];
  return `#${parts.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

/** Parses `#rrggbb` into red, green and blue (0 to 255). */
export function parseRGB(color: string): readonly [red: number, green: number, blue: number] {
  const parseComponent = (start: number) => Number.parseInt(color.slice(start, start + 2), 16);
  return [parseComponent(1), parseComponent(3), parseComponent(5)];
}

/** Picks three colors for a reference image. They depend on its URL alone: no image is read. */
export function pickColors(url: string): readonly string[] {
  const hue = Number.parseInt(hash(url.slice(0, 20_000)).slice(0, 4), 16) % 360;
  return [
    formatHSL(hue, 0.55, 0.45),
    formatHSL((hue + 40) % 360, 0.6, 0.6),
    formatHSL((hue + 190) % 360, 0.4, 0.5),
  ];
}
