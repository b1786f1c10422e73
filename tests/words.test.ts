import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/*
 * A doc comment begins with a noun phrase or a verb in the third person: "Number of attempts after the first." A clause
 * ("What is sent when …") makes the reader wait for the thing that is documented.
 */

const root = join(import.meta.dirname, "..");
const CLAUSE = /^(What|Whatever|Whether|Who|Whoever|Whom|Whose|How|However|Where|Wherever|Which|So long)\b/;
/** Share of doc comments that may begin with a clause. */
const LIMIT = 0.02;

test.each(["core", "react", "emulator", "worker-proxy"])(
  "a doc comment of %s begins with a noun or a verb",
  (name) => {
    const comments = globSync(`packages/${name}/src/**/*.{ts,tsx}`, { cwd: root }).flatMap((path) =>
      openingsOf(readFileSync(join(root, path), "utf8")).map(([line, opening]) => ({ path, line, opening })),
    );
    const clauses = comments.filter(({ opening }) => CLAUSE.test(opening));
    const list = clauses.map(({ path, line, opening }) => `${path}:${line}: ${opening}`).join("\n");
    expect(comments.length).toBeGreaterThan(25);
    expect(clauses.length / comments.length, `\n${list}\n`).toBeLessThan(LIMIT);
  },
);

test("the first words of a comment are found on one line and on several", () => {
  const source =
    "/** What it is. */\nconst a = 1;\n  /**\n   * How long it lasts.\n   */\nconst b = 2;\n/* Where? */";
  expect(openingsOf(source)).toEqual([
    [1, "What it is."],
    [3, "How long it lasts."],
  ]);
});

/** First line of text of each doc comment, with the number of the line on which the comment begins. */
function openingsOf(source: string): (readonly [line: number, opening: string])[] {
  return [...source.matchAll(/^[ \t]*\/\*\*\s+(?:\* )?(.*?)(?: \*\/.*)?$/gm)].map(
    ({ index, 1: opening = "" }) => [source.slice(0, index).split("\n").length, opening] as const,
  );
}
