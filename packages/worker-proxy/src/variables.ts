/* Loaded when an option is wrong. */

/** The value of an option, and its check. */
export interface ReadValue {
  readonly value: unknown;
  readonly check: (value: unknown) => unknown;
}

/**
 * Names the variables behind a wrong option: "; look at env.PROXY_SECRET" where its value is wrong, else ";
 * env.PROXY_SECRET is not set" for those that are missing.
 */
export function variablesIn<Env>(
  read: (env: Env) => unknown,
  env: Env,
  { value: result, check }: ReadValue,
): string {
  const missing = new Set<string>();
  const wrong = new Set<string>();
  const watched = new Proxy(Object(env) as object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (value === undefined || value === "") missing.add(`env.${String(name)}`);
      // one of two keys may be missing, and the other one be at fault
      else if ([result].flat().includes(value) && !passes(check, value)) wrong.add(`env.${String(name)}`);
      return value;
    },
  });
  try {
    // its rejection says no more than the first one did
    Promise.resolve(read(watched as Env)).catch(() => {});
  } catch {}
  if (wrong.size > 0) return `; look at ${[...wrong].join(", ")}`;
  return missing.size > 0 ? `; ${[...missing].join(", ")} is not set` : "";
}

function passes(check: ReadValue["check"], value: unknown): boolean {
  try {
    // an async check is of several variables together: it blames none of them
    const result = check(value);
    if (result instanceof Promise) result.catch(() => {});
    return true;
  } catch {
    return false;
  }
}
