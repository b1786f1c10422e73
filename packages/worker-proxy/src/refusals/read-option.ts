import { decide, refuseSetup } from "./refusal.js";

/**
 * Checks an option of a plugin when the proxy is created.
 *
 * @throws {TypeError} with this message, unless the condition holds
 * @example
 * ```ts
 * function quota(limit: number): ProxyPlugin<Env> {
 *   ensure(limit > 0, "quota: give a limit above 0");
 *   return definePlugin({});
 * }
 * ```
 */
export function ensure(holds: unknown, message: string): asserts holds {
  if (!holds) throw new TypeError(message);
}

/**
 * Reads an option that is a function of `env`, also an async one, and checks its value.
 *
 * @throws {Refusal} 500 `misconfigured`; the log names the option and its problem, without any value
 * @example
 * ```ts
 * const read = ({ WEBHOOK_URL }: Env) => WEBHOOK_URL;
 * const url = await readOption("webhook", read, env, (value) => new URL(String(value)));
 * ```
 */
export async function readOption<Env, T>(
  name: string,
  read: (env: Env) => unknown,
  env: Env,
  check: (value: unknown) => T | Promise<T>,
): Promise<T> {
  const value = await decide(name, "misconfigured", () => read(env));
  try {
    return await check(value);
  } catch (error) {
    throw refuseSetup((error as TypeError).message);
  }
}

/**
 * Reads a binding.
 *
 * @throws {Refusal} 500 `misconfigured` if it is missing; the log names the option
 */
export function readBinding<Env, T>(name: string, read: (env: Env) => T, env: Env): Promise<NonNullable<T>> {
  return readOption(name, read, env, (binding) => {
    ensure(binding, `${name}: its binding is missing`);
    return binding as NonNullable<T>;
  });
}

/** Checks a list of texts. @throws {TypeError} with this message */
export function checkTexts(
  given: unknown,
  isValid: (text: string) => boolean,
  message: string,
  min = 0,
  max = Infinity,
): readonly string[] {
  const isText = (text: unknown) => typeof text === "string" && isValid(text);
  ensure(Array.isArray(given) && given.length >= min && given.length <= max && given.every(isText), message);
  return given;
}

/** Makes the reader of an option. A value is checked at once, the result of a function for each request. */
export function createReader<Env, T>(
  name: string,
  given: unknown,
  check: (value: unknown) => T,
): (env: Env) => T | Promise<T> {
  if (typeof given === "function")
    return (env) => readOption(name, given as (env: Env) => unknown, env, check);
  const value = check(given);
  return () => value;
}
