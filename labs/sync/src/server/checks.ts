import { createRefusal } from "./refusal.js";

const MAX_ID = 256;

/** Reads the id of a collection, a record, a turn or a call. @throws {Refusal} */
export function readId(value: unknown): string {
  const isId = typeof value === "string" && value.length > 0 && value.length <= MAX_ID;
  if (!isId || /[\0\p{Surrogate}]/u.test(value)) throw createRefusal("invalid_id");
  return value;
}

export function isWholeNumber(value: unknown, min: number, max: number): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max;
}

/** Reads a whole number. @throws {Refusal} */
export function readWholeNumber(name: string, value: unknown, [min, max]: readonly [number, number]): number {
  if (!isWholeNumber(value, min, max))
    throw createRefusal("invalid_request", `${name}: send a whole number from ${min} to ${max}`);
  return value;
}

/** Reads a text. @throws {Refusal} */
export function readText(name: string, value: unknown, max: number): string {
  if (typeof value !== "string" || value.length > max)
    throw createRefusal("invalid_request", `${name}: send a text of at most ${max} characters`);
  return value;
}
