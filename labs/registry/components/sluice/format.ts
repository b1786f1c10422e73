const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Writes a length of time in its largest unit: `9 s`, `3 min`, `23 h`. */
export function formatDuration(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.round(ms / 1000))} s`;
  if (ms < HOUR) return `${Math.round(ms / MINUTE)} min`;
  return `${Math.round(ms / HOUR)} h`;
}

/** Writes the id of a model for people: `beta3.0-video` is `Beta 3.0 Video`. */
export function formatModel(id: string): string {
  return id
    .replace(/-\d{6}$/, "")
    .replace(/(\d)-(?=\d)/g, "$1.")
    .replace(/-v(?=\d)/, "-")
    .replace(/([a-z]{2})(?=\d)/, "$1-")
    .split("-")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join(" ");
}

/** Quotes a file name in a sentence. The isolate keeps a name from turning the direction of the sentence. */
export function quoteName(name: string): string {
  return `“\u2068${name}\u2069”`;
}

/** Width and height of an image from its size, `2048x1536`; `[1, 1]` if the size is unknown. */
export function parseSize(size: string | undefined): readonly [number, number] {
  const [width, height] = (size ?? "").split("x").map(Number);
  return width && height ? [width, height] : [1, 1];
}
