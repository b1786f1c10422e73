import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { groups, listPagesInGroup, sidebar } from "../../docs/.vitepress/sidebar.ts";

/* The menu of the site, as the front matter of the pages makes it. */

const written = groups.filter((group) => group !== "Reference").flatMap(listPagesInGroup);

test("a group lists its pages in the order that they name", () => {
  expect(listPagesInGroup("Start").map(({ link }) => link)).toEqual([
    "/start/install",
    "/start/react-worker",
    "/start/next",
    "/start/scripts",
  ]);
});

test("the menu has the groups in order, and opens only the group of the current page", () => {
  const shown = sidebar();
  const names = shown.map(({ text = "" }) => text);
  expect(names).toEqual(groups.filter((group) => names.includes(group)));
  expect(shown.filter(({ collapsed }) => !collapsed)).toEqual([]);
});

test("each page of the menu has a title, a description and words to search for", () => {
  expect(written.length).toBeGreaterThan(20);
  const front = (path: string) =>
    /^---\n(.*?)\n---\n/s.exec(readFileSync(`${import.meta.dirname}/../../docs/${path}`, "utf8"))?.[1] ?? "";
  const lacks = (path: string) =>
    ["title", "description", "keywords"].filter((name) => !new RegExp(`^${name}:`, "m").test(front(path)));
  expect(written.map(({ path }) => [path, lacks(path)]).filter(([, missing]) => missing?.length)).toEqual([]);
});
