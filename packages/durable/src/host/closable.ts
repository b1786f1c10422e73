import type { Host } from "@sluice/worker-proxy";

/** A host that has connections or a file open. */
export interface ClosableHost<Env = unknown> extends Host<Env> {
  /**
   * Waits for jobs that run, for 10 s by default, and closes the database. Timers whose jobs have not ended run again
   * later. A second call does the same as the first.
   */
  close(withinMs?: number): Promise<void>;
}

/** Longest wait for jobs at the end. */
export const DRAIN_MS = 10_000;
