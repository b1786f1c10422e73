import { ensure } from "@sluice/worker-proxy/plugin";

/** @throws {TypeError} for an option that is no whole number from 1 up: comparisons with it would be false */
export function checkWhole(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1)
    throw new TypeError(`${name}: give a whole number from 1 up`);
  return value;
}

/** Longest time that an option may be: a hundred years. A time of the far future is no whole number any more. */
export const MAX_MS = 100 * 366 * 86_400_000;

/** @throws {TypeError} for an option that is no time in milliseconds */
export function checkMilliseconds(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1 || value > MAX_MS)
    throw new TypeError(`${name}: give milliseconds, a whole number from 1 up`);
  return value;
}

/** @throws {TypeError} for an option that does not exist */
export function checkNames(plugin: string, options: object, names: readonly string[]): void {
  for (const name of Object.keys(options))
    ensure(names.includes(name), `${name}: is no option of ${plugin}; there are ${names.join(", ")}`);
}
