import { expect, test } from "vitest";
import { isNewestPage, licencePage } from "../../scripts/licences.ts";

test("LICENCES.md lists what an install brings, and nothing that users would have to ask about", () => {
  expect(licencePage().refused).toEqual([]);
  expect(isNewestPage(), "run node scripts/licences.ts").toBe(true);
});
