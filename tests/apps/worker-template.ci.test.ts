import { describe } from "vitest";
import { closing, closingWithObjects, testTemplate } from "../support/template-cases.ts";

describe("the template by wrangler.durable.jsonc", () => {
  // 61.2 on 30 November 2026: SQL in place of the objects, of which videos are 31.8 kB minified, the host 19.0, budgets 16.0
  testTemplate("wrangler.durable.jsonc", 62, closingWithObjects);
});

// all of it is in the other configuration, too
describe("the template by wrangler.jsonc", () => {
  testTemplate("wrangler.jsonc", 36.7, closing);
});
