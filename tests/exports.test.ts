import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/* The names that an app can import from the main entry of the core, types included. */

const index = readFileSync(new URL("../packages/core/src/index.ts", import.meta.url), "utf8");
const names = [...index.matchAll(/^export (?:type )?\{([^}]*)\} from ".*";$/gm)]
  .flatMap(([, list = ""]) => list.split(","))
  .map((name) => name.trim().replace(/^type /, ""))
  .filter((name) => name !== "");

test("the index of the core exports at most 120 names", () => {
  expect(names.length).toBeGreaterThan(50);
  expect(names.length).toBeLessThanOrEqual(120);
});

test("the index of the core lists each name once and by hand", () => {
  expect(new Set(names).size).toBe(names.length);
  const rest = index.replace(/^export (?:type )?\{[^}]*\} from ".*";$/gm, "").replace(/\/\/.*$/gm, "");
  expect(rest.trim()).toBe("");
});
