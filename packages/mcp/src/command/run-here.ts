import { fstatSync } from "node:fs";
import { text } from "node:stream/consumers";
import { run } from "./run.js";

/** Runs a command in this process. The first Ctrl+C stops it in order, the second at once. */
export async function runHere(args: readonly string[]): Promise<void> {
  const stopped = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.once(name, () => stopped.abort(new Error(`Stopped by ${name}.`)));
  // a reader such as `head` may close the output early
  process.stdout.on("error", () => stopped.abort(new Error("The output was closed.")));
  process.exitCode = await run({
    args,
    env: process.env,
    signal: stopped.signal,
    out: process.stdout,
    err: process.stderr,
    input: () => text(process.stdin),
    hasInput: hasInput(),
  });
}

/**
 * Checks if the input is a pipe or a file, as in `cat notes | sluice chat`.
 */
function hasInput(): boolean {
  try {
    const stats = fstatSync(0);
    return stats.isFIFO() || stats.isFile();
  } catch {
    // the input is closed
    return false;
  }
}
