import type { HostContext } from "@sluice/worker-proxy/plugin";
import { type Part, readRow } from "./parts.js";
import type { Changes, Readers } from "./readers.js";
import type { JobStatus } from "./readings.js";
import type { JobStore } from "./store.js";

/** A response that all readers in a process share: from memory in the process of its owner, otherwise from its rows. */
export interface Feed {
  readonly changes: Changes;
  readonly readers: Readers;
  /** True in the owner's process, which also has the events that are not stored yet. */
  readonly isLive: boolean;
  /** Returns the state of the job; null if the job does not exist. */
  readStatus(): Promise<JobStatus | null>;
  /** Returns the events after an id: undefined if none follow yet, `"missing"` if they are not stored. */
  readPart(after: number): Promise<Part | "missing" | undefined>;
}

/** Reads the stored events after an id. */
export async function readStored(
  { host, key }: HostContext,
  store: JobStore,
  id: string,
  after: number,
): Promise<Part | "missing"> {
  const [row] = await host.run(key, store.parts, { id, after });
  return row ? readRow(row, after) : "missing";
}
