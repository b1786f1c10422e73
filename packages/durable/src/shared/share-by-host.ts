const shared = new WeakMap<object, Map<string, unknown>>();

/**
 * Returns the values that all jobs and sources of one host share, by name: of a process, or of a Durable Object.
 *
 * @param kind the kind of values, and the parts of the name
 */
export function shareByHost<Value>(host: object, ...name: readonly string[]) {
  const values = (shared.get(host) ?? new Map<string, unknown>()) as Map<string, Value>;
  shared.set(host, values);
  const key = JSON.stringify(name);
  return {
    get: () => values.get(key),
    set: (value: Value) => void values.set(key, value),
    /** Deletes a value, unless another one has replaced it. */
    delete(value: Value): void {
      if (values.get(key) === value) values.delete(key);
    },
  };
}
