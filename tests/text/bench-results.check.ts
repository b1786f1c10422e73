import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { updateSummary } from "../../bench/results.ts";

test("docs/performance.md has a table that the bench can update", () => {
  const page = readFileSync(join(import.meta.dirname, "../..", "docs/performance.md"), "utf8");
  expect(page).toMatch(/^Measured on /m);
  const row = { measure: "a new measure", texts: { Sluice: "1" } };
  expect(updateSummary(page, [row], "pnpm bench new")).toContain("| a new measure | 1 |");
});

test("a topic that is measured again replaces its figures, and no others", () => {
  const rows = (measure: string, text: string) => [{ measure, texts: { Sluice: text } }];
  let page = "# Speed\n\n| measure |\n| --- |\n\nafter\n";
  page = updateSummary(page, rows("speed", "1"), "pnpm bench one");
  page = updateSummary(page, rows("size", "2"), "pnpm bench two");
  page = updateSummary(page, rows("speed", "3"), "pnpm bench one");
  expect(page).toBe(
    [
      "# Speed\n",
      "| measure | Sluice | eventsource-parser + JSON.parse | openai | AI SDK | xsai | TanStack AI | command |",
      "| --- | --- | --- | --- | --- | --- | --- | --- |",
      "| speed | 3 | – | – | – | – | – | `pnpm bench one` |",
      "| size | 2 | – | – | – | – | – | `pnpm bench two` |",
      "\nafter\n",
    ].join("\n"),
  );
});
