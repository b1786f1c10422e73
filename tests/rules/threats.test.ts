import { expect, test } from "vitest";
import { readThreats } from "../../scripts/cases.ts";

/** Numbers of all threats. A new threat gets the next one; a number is never used again. */
const ofProxy =
  "1-35, 37-79, 82-83, 85-97, 99-105, 108-127, 129-143, 146-152, 154-158, 165, 170-171, 177-189, 192, 196-200, 213-216, 240";
// the server half of labs/sync had 217 to 227, 241 to 247, and 255 to 258

test("each threat has a test whose title ends with its case", () => {
  expect([...readThreats().keys()]).toEqual(listNumbers(ofProxy));
});

function listNumbers(list: string): number[] {
  return list
    .split(", ")
    .flatMap((range) => {
      const [first = 0, last = first] = range.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, at) => first + at);
    })
    .toSorted((one, other) => one - other);
}
