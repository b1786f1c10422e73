import { isRecord } from "../../transport/error-response.js";

/** An object of the wire. Any field may be missing, or be of any type. */
export type WireObject = Readonly<Record<string, unknown>>;

/** Reads fields of any type: one of another type than expected is read as absent. */
export interface FieldReader {
  /** Text; empty where absent. */
  text(value: unknown, path: string): string;
  /** Entries of an array; none where absent. */
  list(value: unknown, path: string): readonly unknown[];
  record(value: unknown, path: string): WireObject | undefined;
  /** An entry of an array, where null is unexpected too. */
  entry(value: unknown, path: string): WireObject | undefined;
}

const none: readonly unknown[] = [];

/** Creates a reader of fields; `onUnexpected` gets the path of each field that has an unexpected type. */
export function createFieldReader(onUnexpected: (path: string) => void): FieldReader {
  return {
    text: (value, path) => (typeof value === "string" ? value : absent(value, path, "")),
    list: (value, path) => (Array.isArray(value) ? value : absent(value, path, none)),
    record: (value, path) => (isRecord(value) ? value : absent(value, path, undefined)),
    entry: (value, path) => (isRecord(value) ? value : absent(value ?? "null", path, undefined)),
  };

  function absent<Value>(value: unknown, path: string, instead: Value): Value {
    if (value !== undefined && value !== null) onUnexpected(path);
    return instead;
  }
}
