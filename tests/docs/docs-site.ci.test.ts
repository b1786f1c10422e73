import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { buildSite, findDeadLinks, listAnchorsOfSite, readSite } from "../support/docs-site.ts";
import { entries } from "../support/entries.ts";
import { listNames } from "../support/examples.ts";

/* The published documentation, built once for all tests of this file. */

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

beforeAll(buildSite, 600_000);

test("no link between pages of the site is dead, nor its anchor", () => {
  expect(findDeadLinks()).toEqual([]);
});

test.each(Object.entries(entries))("each name that %s exports has a section in the reference", (_, path) => {
  const anchors = listAnchorsOfSite("reference");
  const names = listNames(read(`packages/${path}`));
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !anchors.has(name.toLowerCase()))).toEqual([]);
});

test("each option has an anchor in the reference", () => {
  const anchors = [...listAnchorsOfSite("reference")];
  const exported = new Set(Object.values(entries).flatMap((path) => listNames(read(`packages/${path}`))));
  const sources = globSync("packages/*/src/**/*.{ts,tsx}", { cwd: root }).map(read);
  const options = sources.flatMap((source) => listOptions(source, exported));
  expect(options.length).toBeGreaterThan(80);
  const isThere = (name: string) => anchors.some((anchor) => anchor.endsWith(`-${name.toLowerCase()}`));
  expect(options.filter((name) => !isThere(name))).toEqual([]);
});

test("each error of the client and each refusal of the proxy has an anchor on one page", () => {
  const anchors = listAnchorsOfSite("reference/errors.html");
  const errors = [...read("packages/core/src/types/errors.ts").matchAll(/override readonly name = "(.*?)"/g)];
  const refusals = [
    ...read("packages/worker-proxy/src/refusals/texts.ts").matchAll(/^ +(\w+): \[\d+, "[^"]*"\],$/gm),
  ];
  expect([errors.length > 7, refusals.length > 20]).toEqual([true, true]);
  expect([...errors, ...refusals].filter(([, name = ""]) => !anchors.has(name.toLowerCase()))).toEqual([]);
});

test("llms.txt lists each page, and each page also exists as Markdown", () => {
  const list = readSite("llms.txt");
  const paths = [...list.matchAll(/^- \[.*?\]\((.*?)\)/gm)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(60);
  expect(paths).toEqual(expect.arrayContaining(["start/install.md", "guides/chat-in-react.md", "labs.md"]));
  const full = readSite("llms-full.txt");
  expect(paths.filter((path) => !full.includes(`<!-- ${path} -->\n\n${readSite(path).trim()}`))).toEqual([]);
  expect(full).not.toMatch(/<LiveExample|class="signature"|^<<< |^:::|@include/m);
});

test("a word of a page that is only searched is not shown in its excerpt", () => {
  const page = readSite("guides/errors-and-retries.html");
  expect(page).toContain("takes any error");
  expect(page).not.toContain("⟦");
});

/** The field names of the exported interfaces that end in `Options`. */
function listOptions(source: string, exported: ReadonlySet<string>): string[] {
  return [...source.matchAll(/^export interface (\w*Options)\b.*?^\}/gms)]
    .filter(([, name = ""]) => exported.has(name))
    .flatMap(([block]) => [...block.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name = ""]) => name));
}
