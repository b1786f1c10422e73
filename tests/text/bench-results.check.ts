import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tableIn, withQuote, withReport } from "../../bench/results.ts";

const textOf = (path: string) => readFileSync(join(import.meta.dirname, "../..", path), "utf8");
const results = textOf("bench/RESULTS.md");

test("docs/performance.md quotes the figures that the bench has written", () => {
  expect(tableIn(results).split("\n").length).toBeGreaterThan(5);
  expect(tableIn(textOf("docs/performance.md"))).toBe(tableIn(results));
});

test("a topic that is measured again replaces its section and its figures, and no others", () => {
  const report = (markdown: string, measure: string, text: string) => ({
    markdown,
    summary: [{ measure, texts: { Sluice: text } }],
  });
  let page = "# Results\n\n## Summary\n";
  page = withReport(page, "One", report("first", "speed", "1"), "pnpm bench one");
  page = withReport(page, "Two", report("second", "size", "2"), "pnpm bench two");
  page = withReport(page, "One", report("third", "speed", "3"), "pnpm bench one");
  expect(page).toContain("## Two\n\nsecond\n");
  expect(page).toContain("## One\n\nthird\n");
  expect(page).not.toContain("first");
  expect(tableIn(page)).toBe(
    [
      "| measure | Sluice | eventsource-parser + JSON.parse | openai | AI SDK | xsai | TanStack AI | command |",
      "| --- | --- | --- | --- | --- | --- | --- | --- |",
      "| speed | 3 | – | – | – | – | – | `pnpm bench one` |",
      "| size | 2 | – | – | – | – | – | `pnpm bench two` |\n",
    ].join("\n"),
  );
  expect(withQuote("before\n\n| measure |\n| --- |\n\nafter\n", page)).toBe(
    `before\n\n${tableIn(page)}\nafter\n`,
  );
});
