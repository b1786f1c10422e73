import type { BoundHost, Host, HostSetup } from "@sluice/worker-proxy";
import { ensure } from "@sluice/worker-proxy/plugin";

/** A host that has connections or a file open. */
export interface ClosableHost<Env = unknown> extends Host<Env> {
  /**
   * Waits for jobs that run, for 10 s by default, and closes the database. Timers whose jobs have not ended run again
   * later. A second call does the same as the first.
   */
  close(withinMs?: number): Promise<void>;
}

/** Longest wait for jobs at the end. */
const DRAIN_MS = 10_000;

interface ClosableBoundHost extends BoundHost {
  close(withinMs: number): Promise<void>;
}

/** Creates a host that opens for one proxy, and closes what it opened. */
export function createClosableHost<Env>(
  open: (setup: HostSetup<never>) => ClosableBoundHost,
): ClosableHost<Env> {
  let bound: ClosableBoundHost | undefined;
  return {
    open(setup) {
      ensure(!bound, "host: belongs to one proxy; make another one");
      const opened = open(setup as HostSetup<never>);
      bound = opened;
      return () => opened;
    },
    close: async (withinMs = DRAIN_MS) => bound?.close(withinMs),
  };
}
