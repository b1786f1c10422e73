import { isRecord } from "../transport/error-response.js";

/** Key of the record with the state. */
export const STATE = "state";

/** State of a collection's sync, as it is kept. */
export interface SyncState {
  /** Version up to which this browser has all records, but for those behind `cursor`. */
  readonly version: number;
  /** Cursor of the next page of older records; absent where all are here. */
  readonly cursor?: string;
}

/** Reads the state of a collection's sync from its records; undefined where there is none. */
export function stateIn(records: ReadonlyMap<string, unknown>): SyncState | undefined {
  const state = records.get(STATE);
  if (!isRecord(state) || !Number.isSafeInteger(state.version) || (state.version as number) < 1)
    return undefined;
  const { version, cursor } = state;
  return { version: version as number, ...(typeof cursor === "string" && { cursor }) };
}
