import { ensure } from "@sluice/worker-proxy/plugin";

/** Maximum of a time option: 100 years. The bound keeps each sum of times a safe integer. */
const MAX_MS = 100 * 366 * 86_400_000;

/** @throws {TypeError} unless the option is a whole number from 1 up: comparisons with NaN would be false */
export function checkWhole(name: string, value: unknown): number {
  const isWhole = Number.isSafeInteger(value) && Number(value) >= 1;
  ensure(isWhole, `${name}: give a whole number from 1 up`);
  return value as number;
}

/** @throws {TypeError} unless the option is a whole number of milliseconds from 1 up to 100 years */
export function checkMilliseconds(name: string, value: unknown): number {
  const isTime = Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= MAX_MS;
  ensure(isTime, `${name}: give a whole number of milliseconds from 1 up, 100 years at most`);
  return value as number;
}

/** @throws {TypeError} for an option that does not exist */
export function checkNames(subject: string, options: object, names: readonly string[]): void {
  for (const name of Object.keys(options))
    ensure(names.includes(name), `${name}: is not an option of ${subject}; there are ${names.join(", ")}`);
}
