import { describe } from "vitest";
import { closing, closingWithObjects, testTemplate } from "../support/template-cases.ts";

describe("the template by wrangler.durable.jsonc", () => {
  testTemplate("wrangler.durable.jsonc", 52.4, closingWithObjects);
});

// all of it is in the other configuration, too
describe("the template by wrangler.jsonc", () => {
  testTemplate("wrangler.jsonc", 36.7, closing);
});
