/** Writes one line to the operator's log. */
export function logError(problem: string): void {
  // biome-ignore lint/suspicious/noConsole: this is the log
  console.error(`sluice proxy: ${problem}`);
}
