/** Reads a document in deltas. Returns its value after the last delta. */
export type Reader = (deltas: readonly string[]) => unknown;

/** Readers that parse only the new delta. */
export const incremental: Record<string, Reader>;
/** Readers that parse the whole text again after each delta. */
export const restarting: Record<string, Reader>;
