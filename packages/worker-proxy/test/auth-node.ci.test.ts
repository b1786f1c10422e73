import { describe } from "vitest";

/* The same tests in Node, with its own fetch, streams and Web Crypto. */
describe.each(["access", "jwt", "keys", "options"])("in Node, %s:", async (name) => {
  await import(`./auth-${name}.workerd.test.ts`);
});
