import { expect, test } from "vitest";
import { createLicencePage } from "../../scripts/licences.ts";

test("an install brings no licence that users would have to ask about", () => {
  expect(createLicencePage().refused).toEqual([]);
});
