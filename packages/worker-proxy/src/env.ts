import { misconfigured } from "./refusal.js";

/** @throws {TypeError} with this message, unless the condition holds */
export function ensure(holds: unknown, message: string): asserts holds {
  if (!holds) throw new TypeError(message);
}

/**
 * Reads an option that may be a function of `env`, also an async one, and checks its value.
 *
 * @throws {Refusal} 500 `misconfigured`; the log names the option and what is missing in `env`, without any value
 */
export async function readOption<Env, T>(
  name: string,
  given: unknown,
  env: Env,
  check: (value: unknown) => T,
): Promise<T> {
  const read = typeof given === "function" ? (from: Env) => given(from) as unknown : () => given;
  let value: unknown;
  try {
    value = await read(env);
  } catch (error) {
    throw misconfigured(`${name}: its function threw${missingIn(read, env)}`, error);
  }
  try {
    return check(value);
  } catch (error) {
    throw misconfigured((error as TypeError).message + missingIn(read, env));
  }
}

/**
 * Reads a binding.
 *
 * @throws {Refusal} 500 `misconfigured` where it is missing; the log names the option and the binding
 */
export function readBinding<Env, T>(name: string, read: (env: Env) => T, env: Env): NonNullable<T> {
  let binding: T | undefined;
  try {
    binding = read(env);
  } catch (error) {
    throw misconfigured(`${name}: its function threw${missingIn(read, env)}`, error);
  }
  if (binding) return binding;
  throw misconfigured(`${name}: its binding is missing${missingIn(read, env)}`);
}

/** Names what a function looks for in `env` and does not find: "; env.PROXY_SECRET is not set". */
function missingIn<Env>(read: (env: Env) => unknown, env: Env): string {
  const missing = new Set<string>();
  const watched = new Proxy(Object(env) as object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (value === undefined || value === "") missing.add(`env.${String(name)}`);
      return value;
    },
  });
  try {
    // its rejection says no more than the first one did
    Promise.resolve(read(watched as Env)).catch(() => {});
  } catch {}
  return missing.size > 0 ? `; ${[...missing].join(", ")} is not set` : "";
}
