import { misconfigured } from "./refusal.js";

/** @throws {TypeError} with this message, unless the condition holds */
export function ensure(holds: unknown, message: string): asserts holds {
  if (!holds) throw new TypeError(message);
}

/**
 * Reads an option that is a function of `env`, also an async one, and checks its value.
 *
 * @throws {Refusal} 500 `misconfigured`; the log names the option and what is missing in `env`, without any value
 */
export async function readOption<Env, T>(
  name: string,
  read: (env: Env) => unknown,
  env: Env,
  check: (value: unknown) => T | Promise<T>,
): Promise<T> {
  let problem = `${name}: its function threw`;
  let cause: unknown;
  let value: unknown;
  try {
    value = await read(env);
    try {
      return await check(value);
    } catch (error) {
      problem = (error as TypeError).message;
    }
  } catch (error) {
    cause = error;
  }
  throw misconfigured(problem + variablesIn(read, env, value, check), cause);
}

/**
 * Reads a binding.
 *
 * @throws {Refusal} 500 `misconfigured` where it is missing; the log names the option and the binding
 */
export function readBinding<Env, T>(name: string, read: (env: Env) => T, env: Env): Promise<NonNullable<T>> {
  return readOption(name, read, env, (binding) => {
    ensure(binding, `${name}: its binding is missing`);
    return binding as NonNullable<T>;
  });
}

/** Makes the reader of an option. A value is checked at once, the result of a function for each request. */
export function readerOf<Env, T>(
  name: string,
  given: unknown,
  check: (value: unknown) => T,
): (env: Env) => T | Promise<T> {
  if (typeof given === "function")
    return (env) => readOption(name, given as (env: Env) => unknown, env, check);
  const value = check(given);
  return () => value;
}

/**
 * Names the variables behind a wrong option: "; look at env.PROXY_SECRET" where its value is wrong, else ";
 * env.PROXY_SECRET is not set" for those that are missing.
 */
function variablesIn<Env>(
  read: (env: Env) => unknown,
  env: Env,
  result: unknown,
  check: (value: unknown) => unknown,
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

function passes(check: (value: unknown) => unknown, value: unknown): boolean {
  try {
    // an async check is of several variables together: it blames none of them
    const result = check(value);
    if (result instanceof Promise) result.catch(() => {});
    return true;
  } catch {
    return false;
  }
}
