import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { models } from "@sluice/core/schemas";
import { describe, expect, test } from "vitest";
import { listModels } from "../rules/model-list.ts";

/* Details of models in prose come from the tables: `pnpm check models` writes them. */

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const ids = Object.keys(models);
const guides = globSync(["README.md", "packages/*/{README,AGENTS}.md"], { cwd: root });

test("AGENTS.md of core lists the models", () => {
  expect(read("packages/core/AGENTS.md")).toContain(`\n## Models\n\n${listModels()}\n`);
});

test("The details of a model are those of the spec", () => {
  const findRow = (id: string) =>
    listModels()
      .split("\n")
      .find((row) => row.includes(`\`${id}\``));
  expect(findRow("alpha-v4.1-flash")).toMatch(/thinking on or off, tools, sees images, JSON mode/);
  expect(findRow("delta-5.3")).toMatch(/always thinks, tools that the spec does not list, text only/);
  expect(findRow("gamma-chat-1-6-251015")).toMatch(/no thinking, no tools, text only/);
  expect(findRow("gamma-video-2.0")).toMatch(/4 to 15 seconds, `480p` `720p` `1080p` `4k`/);
});

describe.each(guides)("%s", (page) => {
  test("names only models that exist", () => {
    const named = [...read(page).matchAll(/["`]((?:alpha|beta|gamma|delta)[\w.]*-[\w.-]*\w)["`]/g)].map(
      ([, id]) => id,
    );
    // the example of a misspelt model
    expect(named.filter((id) => !ids.includes(id ?? "") && id !== "gamma-video-1")).toEqual([]);
  });
});
