import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = `${import.meta.dirname}/../../`;
const folders = ["packages/worker-proxy/test", "packages/durable/test", "packages/core/test", "tests"];
const files = folders.flatMap((folder) =>
  globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root, exclude: ["**/node_modules/**", "**/.tmp/**"] }),
);
const page = readFileSync(`${root}SECURITY.md`, "utf8");

/** Finds each suite that a row of the promises names, with the numbers of its cases: `auth-*` 32 and 33. */
const named = [...page.matchAll(/^\| \*\*(.*?)\*\*.*?\| ([^|]*) \|$/gm)].flatMap(
  ([, promise = "", shown = ""]) =>
    [...shown.matchAll(/`([\w*/.-]+)`((?:(?:,| and| to)? \d+)*)/g)].map(([, suite = "", cases = ""]) => ({
      promise,
      suite,
      cases: listNumbers(cases),
    })),
);

test("SECURITY.md lists its promises", () => {
  expect(new Set(named.map(({ promise }) => promise)).size).toBeGreaterThan(8);
});

test.each(named)("$promise $suite $cases", ({ suite, cases }) => {
  const pattern = new RegExp(
    `(?:^|/)${suite.replace("*", "[^/]*")}(?:\\.workerd)?(?:\\.ci|\\.nightly)?(?:\\.test)?(?:\\.ts)?$`,
  );
  const found = files.filter((file) => pattern.test(file)).map((file) => readFileSync(root + file, "utf8"));
  if (!suite.startsWith("support/")) expect(found).not.toEqual([]);
  const shown = found.flatMap((text) =>
    [...text.matchAll(/cases? ((?:\d+|,? |and|to)+)/g)].flatMap(([, numbers = ""]) => listNumbers(numbers)),
  );
  expect(shown).toEqual(expect.arrayContaining(cases));
});

/** `1 to 3, 7` → 1, 2, 3, 7 */
function listNumbers(text: string): number[] {
  return [...text.matchAll(/(\d+)(?: to (\d+))?/g)].flatMap(([, first, last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) => Number(first) + at),
  );
}
