import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describeThrown } from "@sluice/core/extend";
import type { FaultCase } from "./fault-case.js";
import { assertDistinct, parseFaultCases } from "./parse.js";

/** The faults of this package. */
const OWN_FOLDER = join(import.meta.dirname, "../../faults");

/**
 * Reads the faults of this package, or those of another folder, on Node. Pass them to `createEmulator`, which then
 * serves each fault at `/faults/<name>/…`.
 *
 * @param folder folder with JSON files, each with a `group` and its `faults`. @default the files of this package
 * @throws Error that names the file and the wrong field.
 * @example
 * ```ts
 * const emulator = createEmulator({ faultCases: readFaultCases() });
 * const client = createClient({ ...emulator.clientOptions, baseURL: "https://gateway.test/faults/cut-in-text" });
 * ```
 */
export function readFaultCases(folder: string = OWN_FOLDER): FaultCase[] {
  const paths = readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => join(folder, name));
  const cases = paths.flatMap((path) => {
    try {
      return parseFaultCases(readFileSync(path, "utf8"));
    } catch (error) {
      throw new Error(`${path} has a wrong fault:\n${describeThrown(error)}`);
    }
  });
  assertDistinct(cases.map(({ name }) => name));
  return cases;
}
