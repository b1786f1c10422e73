import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const lab = new URL("../..", import.meta.url);
const textOf = (path: string) => readFileSync(new URL(path, lab), "utf8");
const numbers = [...textOf("THREATS.md").matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number));

test("Each case of the page of threats has a test, whose title names it", () => {
  const titles = globSync("test/server/*.test.ts", { cwd: lab }).map(textOf).join("\n");
  const lists = [...titles.matchAll(/(?:["'`]|, )cases? ((?:\d+(?:, | and )?)+): /g)];
  const named = new Set(lists.flatMap(([, list = ""]) => (list.match(/\d+/g) ?? []).map(Number)));
  expect(numbers.length).toBeGreaterThan(0);
  expect(numbers.filter((number) => !named.has(number))).toEqual([]);
});
