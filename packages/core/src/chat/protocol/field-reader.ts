import { isRecord } from "../../transport/error-response.js";

/** An object of the answer's JSON. Any field may be missing, or have any type. */
export type WireObject = Readonly<Record<string, unknown>>;

/** Reads fields of any type. A field of an unexpected type is read as absent. */
export interface FieldReader {
  /** Text; empty where it is absent. */
  text(value: unknown, path: string): string;
  /** Entries of an array; none where it is absent. */
  list(value: unknown, path: string): readonly unknown[];
  record(value: unknown, path: string): WireObject | undefined;
  /** An entry of an array, where null is unexpected. */
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
