import type { SharedV4Warning } from "@ai-sdk/provider";

/** The warnings of one call. */
export interface Warnings {
  readonly list: SharedV4Warning[];
  /** Adds a setting that the model lacks, and that was not sent. */
  unsupported(feature: string, details?: string): void;
  /** Adds a setting that was sent in another form. */
  changed(feature: string, details: string): void;
}

/** Creates an empty list of warnings. */
export function createWarnings(): Warnings {
  const list: SharedV4Warning[] = [];
  return {
    list,
    unsupported(feature, details) {
      list.push({ type: "unsupported", feature, ...(details !== undefined && { details }) });
    },
    changed(feature, details) {
      list.push({ type: "compatibility", feature, details });
    },
  };
}
