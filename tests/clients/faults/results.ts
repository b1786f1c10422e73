import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readFaultCases } from "@sluice/emulator/faults";
import type { FaultCase, FaultVerdict } from "./reading.ts";

const STORED = join(import.meta.dirname, "results.json");

/** Verdicts of the clients, as the last run stored them. */
export interface StoredResults {
  /** Versions of the packages, by client. */
  readonly versions: Readonly<Record<string, string>>;
  /** Verdicts by fault and client. A client without the operation is left out. */
  readonly verdicts: Readonly<Record<string, Readonly<Record<string, FaultVerdict>>>>;
}

/** The faults that a client of chats can meet. */
export function readChatFaults(): FaultCase[] {
  return readFaultCases().filter(({ operation }) => operation.endsWith("-chat"));
}

export function readResults(): StoredResults {
  return JSON.parse(readFileSync(STORED, "utf8"));
}

export function storeResults(results: StoredResults): void {
  writeFileSync(STORED, `${JSON.stringify(results, null, 2)}\n`);
}
