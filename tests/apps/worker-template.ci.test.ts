import { describe } from "vitest";
import { closing, closingWithObjects, testTemplate } from "../support/template-cases.ts";

describe("the template by wrangler.durable.jsonc", () => {
  // 54.2 on 30 November 2026, of which the objects are 20: videos 21.3 kB minified, the host 18.0, budgets 15.6
  testTemplate("wrangler.durable.jsonc", 54.5, closingWithObjects);
});

// the other configuration contains the same code
describe("the template by wrangler.jsonc", () => {
  testTemplate("wrangler.jsonc", 36.7, closing);
});
