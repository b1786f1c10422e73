import type { SyncStatus } from "@sluice/core";
import type { MessageNode } from "./tree.js";
import type { WorkLocks } from "./work-locks.js";

/** Coordinates the work on a thread with other devices. A storage that several devices share creates it. */
export interface DeviceCoordination {
  readonly locks: WorkLocks;
  /** Calls `merge` for copies of other devices, and notes their work. */
  readonly merge: (copies: readonly MessageNode[], merge: () => void) => void;
  /** Ends the work of another device on a message. That device ends its turn when it reads the change. */
  readonly stopElsewhere: (id: string) => void;
  readonly sync: () => SyncStatus;
  /** Shows changes of `sync` until the returned function is called. */
  readonly open: () => () => void;
}
