import type { SyncStatus } from "@sluice/core/internal";
import type { PlacedMessage } from "../tree.js";
import type { WorkLocks } from "./work-locks.js";

/** The side of a thread that other devices see. A storage that several devices share opens it. */
export interface OtherDevices {
  readonly locks: WorkLocks;
  /** Merges copies, and notes what other devices have done. */
  readonly merging: (copies: readonly PlacedMessage[], merge: () => void) => void;
  /** Ends the work of another device on a message; that device ends its turn when it learns of it. */
  readonly stopElsewhere: (id: string) => void;
  readonly sync: () => SyncStatus;
  /** Shows changes of `sync`, until the returned function is called. */
  readonly open: () => () => void;
}
