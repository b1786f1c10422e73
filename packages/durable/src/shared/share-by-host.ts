const shared = new WeakMap<object, Map<string, unknown>>();

/**
 * Returns access to a value that all jobs and sources of one host share. A host is a process or a Durable Object.
 *
 * @param name the parts of the value's name
 */
export function shareByHost<Value>(host: object, ...name: readonly string[]) {
  const values = (shared.get(host) ?? new Map<string, unknown>()) as Map<string, Value>;
  shared.set(host, values);
  const key = JSON.stringify(name);
  return {
    get: () => values.get(key),
    set: (value: Value) => void values.set(key, value),
    /** Deletes the value unless another value has replaced it. */
    delete(value: Value): void {
      if (values.get(key) === value) values.delete(key);
    },
  };
}
