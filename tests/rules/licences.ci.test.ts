import { expect, test } from "vitest";
import { licencePage } from "../../scripts/licences.ts";

test("an install brings no licence that users would have to ask about", () => {
  expect(licencePage().refused).toEqual([]);
});
