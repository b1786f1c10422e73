import { describe } from "vitest";
import { closing, testTemplate } from "../support/template-cases.ts";

// all of it is in the other configuration, too
describe("the template by wrangler.jsonc", () => {
  testTemplate("wrangler.jsonc", 36.7, closing);
});
