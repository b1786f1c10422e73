import { expect, test } from "vitest";
import { jsonSchemas } from "../../packages/core/scripts/json-schemas.ts";
import { jsonSchemas as written } from "../../packages/core/src/vocabulary/json-schemas.js";

test("the JSON Schemas of the package are what scripts/json-schemas.ts writes from the rules", () => {
  expect(written).toEqual(jsonSchemas());
});
