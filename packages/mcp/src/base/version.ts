import { readFileSync } from "node:fs";

/** Reads the version of this package. The repository has 0.0.0: a release sets the version. */
export function readVersion(): string {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}
