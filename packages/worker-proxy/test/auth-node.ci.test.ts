import { describe } from "vitest";

/** The same sentences in Node, whose fetch, streams and Web Crypto are others than workerd's. */
describe.each(["access", "jwt", "keys", "options"])("in Node, %s:", async (name) => {
  await import(`./auth-${name}.workerd.test.ts`);
});
