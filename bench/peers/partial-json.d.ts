/** Reads a document in deltas; returns its value after the last of them. */
export type Reader = (deltas: readonly string[]) => unknown;

/** Readers that take up each delta where the last one ended. */
export const linear: Record<string, Reader>;
/** Readers that parse all of the text again after each delta. */
export const again: Record<string, Reader>;
