import { createRandomId, isRecord } from "@sluice/core/extend";

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
  if (!isRecord(state) || !isVersion(state.version)) return undefined;
  const { version, cursor } = state;
  return { version, ...(typeof cursor === "string" && { cursor }) };
}

/** Beginning of the keys of records with the doubts of one tab: it may be closed before it could ask the server. */
const DOUBTS = "doubts/";

/** Records of a collection of which the local storage may have an older value, with the version that the server had. */
export type Doubts = ReadonlyMap<string, number>;

/** Makes the key of a record with doubts. */
export function newDoubtsKey(): string {
  return DOUBTS + createRandomId();
}

/** Reads the doubts of all tabs, and the keys of the records with them. */
export function doubtsIn(records: ReadonlyMap<string, unknown>): {
  readonly doubts: Doubts;
  readonly keys: readonly string[];
} {
  const found = [...records].filter(([key]) => key.startsWith(DOUBTS));
  const doubts = new Map<string, number>();
  for (const [key, version] of found.flatMap(([, noted]) => (isRecord(noted) ? Object.entries(noted) : [])))
    if (isVersion(version)) doubts.set(key, Math.min(version, doubts.get(key) ?? version));
  return { doubts, keys: found.map(([key]) => key) };
}

function isVersion(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

/** Returns the version from which on records are to be read: that of the state, or an older one that is in doubt. */
export function sinceOf({ version }: SyncState, doubts: Doubts): number {
  return Math.min(version, ...[...doubts.values()].map((at) => at - 1));
}
