import { createPartialJSON } from "@sluice/core/partial-json";
import { expect } from "vitest";
import { createRandom } from "./gateway.js";

/** Parses a document in pieces. Returns its value and state after the last piece. */
export function read(...pieces: readonly string[]) {
  const document = createPartialJSON();
  for (const piece of pieces) document.push(piece);
  return { value: document.value, state: document.state };
}

/** Returns true if `value` is a part of `whole`: with starts of strings, whole literals, and entries in the same order. */
export function isIncludedIn(value: unknown, whole: unknown): boolean {
  if (typeof value === "string" && typeof whole === "string") return whole.startsWith(value);
  if (Array.isArray(value) && Array.isArray(whole))
    return value.length <= whole.length && value.every((item, index) => isIncludedIn(item, whole[index]));
  if (isObject(value) && isObject(whole))
    return Object.keys(value).every(
      (key) => Object.hasOwn(whole, key) && isIncludedIn(value[key], whole[key]),
    );
  return Object.is(value, whole);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isSameValue(one: unknown, other: unknown): boolean {
  try {
    expect(one).toStrictEqual(other);
    return true;
  } catch {
    return false;
  }
}

const words = [
  "",
  "a",
  "key",
  "é",
  "東京",
  "😀",
  "\ud83d",
  "\ude00",
  '"',
  "\\",
  "\n",
  "\u0000",
  "/",
  "__proto__",
  "7",
];

function createRandomValue(random: () => number, depth: number): unknown {
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
  const many = <T>(make: () => T) => Array.from({ length: Math.floor(random() * 4) }, make);
  // names have no backslash, because V8's JSON.parse then misreads other escaped names (node issue 63785)
  const word = () => many(() => pick(words)).join("");
  const leaves = [
    word,
    word,
    () => pick([0, -0, 1, -12.5, 1e21, 5e-324, 1.5e300]),
    () => pick([true, false, null]),
  ];
  if (depth === 0 || random() < 0.3) return pick(leaves)();
  if (random() < 0.5) return many(() => createRandomValue(random, depth - 1));
  return Object.fromEntries(many(() => [word().replaceAll("\\", ""), createRandomValue(random, depth - 1)]));
}

/** Creates a random document with optional whitespace and escapes. */
export function createRandomJSON(random: () => number): string {
  const json = JSON.stringify([createRandomValue(random, 5)], undefined, Math.floor(random() * 3));
  return json.replace(/[^\x20-\x7e\n]/g, (unit) =>
    random() < 0.5 ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Splits a text into pieces of 1 to 12 characters, mostly short ones. */
export function splitRandomly(text: string, random: () => number): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; start += pieces.at(-1)?.length ?? 0)
    pieces.push(text.slice(start, start + 1 + Math.floor(random() ** 2 * 12)));
  return pieces;
}

/** Reads random documents in random pieces, and expects that each reading is a part of the next one. */
export function expectGrowth(seed: number, rounds: number): void {
  const random = createRandom(seed);
  for (let round = 0; round < rounds; round += 1) {
    const text = createRandomJSON(random);
    const whole = JSON.parse(text);
    const document = createPartialJSON();
    const readings: { value: unknown; copy: unknown }[] = [];
    let prefix = "";
    for (const piece of splitRandomly(text, random)) {
      document.push(piece);
      prefix += piece;
      if (random() < 0.3) continue;
      const { value } = document;
      const before = readings.at(-1)?.value;
      if (value === undefined) expect(before).toBeUndefined();
      else {
        expect(isIncludedIn(value, whole), `${prefix} gave ${JSON.stringify(value)}`).toBe(true);
        expect(before === undefined || isIncludedIn(before, value)).toBe(true);
        expectShared(before, value);
      }
      expect(read(prefix).value).toStrictEqual(value);
      expect(document.value).toBe(value);
      readings.push({ value, copy: structuredClone(value) });
    }
    expect(document.value).toStrictEqual(whole);
    expect(document.state).toBe("complete");
    for (const { value, copy } of readings) expect(value).toStrictEqual(copy);
  }
}

/** Expects that equal values of two readings are one object. */
function expectShared(before: unknown, after: unknown): void {
  if (typeof before !== "object" || before === null || before === after) return;
  expect(before).not.toStrictEqual(after);
  for (const key of Object.keys(before))
    expectShared((before as Record<string, unknown>)[key], (after as Record<string, unknown>)[key]);
}
