import { readFileSync } from "node:fs";
import { describeThrown } from "@sluice/core/extend";
import { checkScript, type Script } from "../script/script.js";

/** Reads a script from a file. Throws an `Error` that names the file, and the wrong line or field. */
export function readScript(path: string): Script {
  const text = runOrThrow(`--script: ${path} can't be read`, () => readFileSync(path, "utf8"));
  const value: unknown = runOrThrow(`--script: ${path} is not JSON`, () => JSON.parse(text));
  return runOrThrow(`--script: ${path} is not a script`, () => checkScript(value));
}

function runOrThrow<Result>(problem: string, attempt: () => Result): Result {
  try {
    return attempt();
  } catch (error) {
    const lines = describeThrown(error).split("\n");
    throw new Error(`${problem}:\n${lines.map((line) => `  ${line}`).join("\n")}`);
  }
}
