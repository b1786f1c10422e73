import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FaultCase } from "./fault-case.js";

const FOLDER = join(import.meta.dirname, "../../faults");

/** A file of faults. The tests validate each file. */
interface FaultFile {
  readonly group: string;
  readonly faults: readonly Omit<FaultCase, "group">[];
}

/**
 * Reads the faults of this package, on Node. Pass them to `createEmulator`, which then serves each fault at
 * `/faults/<name>/…`.
 *
 * @example
 * ```ts
 * const emulator = createEmulator({ faultCases: readFaultCases() });
 * const client = createClient({ ...emulator.clientOptions, baseURL: "https://gateway.test/faults/cut-in-text" });
 * ```
 */
export function readFaultCases(): FaultCase[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  return names.sort().flatMap((name) => {
    const { group, faults }: FaultFile = JSON.parse(readFileSync(join(FOLDER, name), "utf8"));
    return faults.map((fault) => ({ ...fault, group }));
  });
}
