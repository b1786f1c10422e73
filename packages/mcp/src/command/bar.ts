const WIDTH = 24;

/** Writes a bar: `[######------------------]  25 %  running`. */
export function bar(progress: number | undefined, says: string): string {
  if (progress === undefined) return says;
  const share = Math.min(Math.max(progress, 0), 1);
  const full = Math.round(share * WIDTH);
  const percent = String(Math.round(share * 100)).padStart(3);
  return `[${"#".repeat(full)}${"-".repeat(WIDTH - full)}] ${percent} %  ${says}`;
}
