import type { Clock } from "@sluice/core";
import type { ProgressOutput } from "./terminal.js";

const WIDTH = 24;
const MIN_WIDTH = 6;

/**
 * Formats a bar: `[######------------------]  25 %  running  1:05`. The bar fits into the columns of the terminal,
 * because a wrapped line can't be replaced.
 */
export function formatBar(
  progress: number | undefined,
  text: string,
  { seconds, columns = 80 }: { seconds?: number | undefined; columns?: number | undefined } = {},
): string {
  const time = seconds === undefined ? "" : `  ${formatTime(seconds)}`;
  // a terminal may wrap a line that fills it
  const limit = columns - 1;
  if (progress === undefined) return `${text}${time}`.slice(0, limit);
  const share = Math.min(Math.max(progress, 0), 1);
  const rest = `${String(Math.round(share * 100)).padStart(3)} %  ${text}${time}`;
  const width = Math.min(WIDTH, limit - rest.length - 3);
  if (width < MIN_WIDTH) return rest.trim().slice(0, limit);
  const full = Math.round(share * width);
  return `[${"#".repeat(full)}${"-".repeat(width - full)}] ${rest}`;
}

/** A line of progress on a terminal. */
export interface Progress {
  /** Writes the line with the current time and state. */
  readonly update: () => void;
  /** Ends the updates. */
  readonly end: () => void;
}

const TICK_MS = 1000;

/** Updates a line of progress each second on a terminal. A file gets a line for each change, without the time. */
export function showProgress(
  output: ProgressOutput,
  clock: Clock,
  format: (options: { seconds: number | undefined; columns: number | undefined }) => string,
): Progress {
  const startedAt = clock.now();
  const update = () => {
    const seconds = output.isTTY ? Math.round((clock.now() - startedAt) / 1000) : undefined;
    output.replace(format({ seconds, columns: output.columns }));
  };
  const timer = output.isTTY ? setInterval(update, TICK_MS) : undefined;
  return { update, end: () => clearInterval(timer) };
}

function formatTime(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
