/** A value in a row. */
export type RowValue = string | number | null | Uint8Array;

/** One row of an object. */
export interface StoredRow {
  /** Name of its table and values of its primary key, as JSON: no other row of the object has the same. */
  readonly place: string;
  readonly table: string;
  /** Values in the order of the table's columns. */
  readonly values: readonly RowValue[];
}

/** All that an object has stored. */
export interface StoredObject {
  /** Statements that create its tables, indexes and triggers. */
  readonly schema: readonly string[];
  readonly rows: readonly StoredRow[];
  /** Unix milliseconds. */
  readonly alarm: number | null;
}

/** The writes of one turn of an object, which are kept together or not at all. */
export interface Changes {
  /** Present where tables were created or changed: `rows` has all rows of the object then, and no other one stays. */
  readonly schema?: readonly string[];
  /** Rows that are new or have changed. */
  readonly rows: readonly StoredRow[];
  /** Places of rows that are gone. */
  readonly removed: readonly string[];
  /** Present where the alarm has changed. */
  readonly alarm?: number | null;
}

/** Name of an object: that of the binding to its class, and its own. */
export interface ObjectName {
  readonly binding: string;
  readonly name: string;
}

/** Returns a text that no other name gives. */
export function keyOf({ binding, name }: ObjectName): string {
  return `${binding}\n${name}`;
}

/** Keeps what objects store, and finds alarms that are due. */
export interface Keeper {
  /** Reads all that an object has stored, and makes this process the only one that may write it, if no other one is. */
  open(object: ObjectName): Promise<KeptObject | KeptElsewhere>;
  /** Finds objects whose alarm is due and that no other process has, up to `most`, the earliest first. */
  due(most: number): Promise<DueAlarms>;
  /** Calls back where another process leaves an alarm to this one, with its time. */
  readonly onAlarm?: ((wakeAt: (at: number) => void) => void) | undefined;
  close(): Promise<void>;
}

/** Objects whose alarm is due. */
export interface DueAlarms {
  readonly objects: readonly ObjectName[];
  /** Time at which to look for more, in Unix milliseconds: the earliest alarm that is not among these. */
  readonly next: number | null;
}

/** An object that another process may write. */
export interface KeptElsewhere {
  /** Address at which that process takes requests for its objects, as it has registered it. */
  readonly owner: string;
}

/** An object that this process may write. */
export interface KeptObject {
  readonly stored: StoredObject;
  /** Keeps the writes of a turn. Those of one object are kept in the order of the calls. @throws {Error} where nothing was kept */
  write(changes: Changes): Promise<void>;
  /** Returns false once another process may have the object: nothing that is answered here may be heard any more. */
  isOurs(): boolean;
  /** Gives the object up. */
  close(): Promise<void>;
}
