import { expect, test } from "vitest";
import { createLicencePage } from "../../scripts/licences.ts";

test("an install contains only licences that need no permission", () => {
  expect(createLicencePage().refused).toEqual([]);
});
