#!/usr/bin/env node
import { fstatSync } from "node:fs";
import { text } from "node:stream/consumers";
import { run } from "./command/run.js";

// the first Ctrl+C ends the command in order; a second one ends the process at once
const stopped = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => stopped.abort(new Error(`Stopped by ${name}.`)));
// a reader such as `head` may close the output early
process.stdout.on("error", () => stopped.abort(new Error("The output was closed.")));
process.exitCode = await run({
  args: process.argv.slice(2),
  env: process.env,
  signal: stopped.signal,
  out: process.stdout,
  err: process.stderr,
  input: () => text(process.stdin),
  hasInput: hasInput(),
});

/** Checks if the input is a pipe or a file, as in `cat notes | sluice chat`. */
function hasInput(): boolean {
  try {
    const stats = fstatSync(0);
    return stats.isFIFO() || stats.isFile();
  } catch {
    // the input is closed
    return false;
  }
}
