import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/*
 * A doc comment begins with a noun phrase or a verb in the third person: "Number of attempts after the first." A clause
 * ("What is sent when …") makes the reader wait for the thing that is documented.
 */

const root = join(import.meta.dirname, "..");
const CLAUSE = /^(What|Whatever|Whether|Who|Whoever|Whom|Whose|How|However|Where|Wherever|Which|So long)\b/;

const sources = ["core", "react", "emulator", "mcp", "worker-proxy", "durable", "otel", "ai-sdk"].map(
  (name) => `packages/${name}/src`,
);
const tests = ["core", "react", "emulator"].map((name) => `packages/${name}/test`);

test.each([
  ...sources,
  ...tests,
  "packages/worker-proxy/test",
  "packages/durable/test",
  "tests",
  "bench",
  "scripts",
  "examples/*/src",
])("a doc comment in %s begins with a noun or a verb", (folder) => {
  const exclude = ["**/node_modules/**", "**/.tmp/**"];
  const comments = globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root, exclude }).flatMap((path) =>
    openingsOf(readFileSync(join(root, path), "utf8")).map(([line, opening]) => ({ path, line, opening })),
  );
  const clauses = comments.filter(({ opening }) => CLAUSE.test(opening));
  const list = clauses.map(({ path, line, opening }) => `${path}:${line}: ${opening}`).join("\n");
  expect(comments.length).toBeGreaterThan(20);
  expect(list).toBe("");
});

/** Names of a scene, where the field has a term: requested, reported, notified, polledAt. */
const SCENE = /\b(?:const|let|function)\s+(?:\{[^}=]*\b)?(told|heard|askedAt|overheard|shelf)\b/g;

test.each(tests)("no name in %s tells a scene", (folder) => {
  const found = globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root }).flatMap((path) =>
    [...readFileSync(join(root, path), "utf8").matchAll(SCENE)].map(([, name]) => `${path}: ${name}`),
  );
  expect(found).toEqual([]);
});

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
