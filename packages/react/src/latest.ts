/** Holds what the latest render said. */
export interface Latest<Value> {
  readonly read: () => Value;
  readonly set: (value: Value) => void;
}

/** Creates a holder. */
export function createLatest<Value>(initial: Value): Latest<Value> {
  let latest = initial;
  return {
    read: () => latest,
    set(value) {
      latest = value;
    },
  };
}
