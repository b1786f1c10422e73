import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { anchorsOfSite, buildSite, deadLinks, readSite } from "../support/docs-site.ts";
import { entries } from "../support/entries.ts";
import { namesOf } from "../support/examples.ts";
import { temporaryFolder } from "../support/temporary.ts";

/* The documentation as it is published: built once, for all tests of this file. */

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

const packagePages = temporaryFolder("package-pages");

beforeAll(buildSite, 600_000);

test("no link between pages of the site is dead, nor its anchor", () => {
  expect(deadLinks()).toEqual([]);
});

test.each(Object.entries(entries))("each name that %s exports has a section in the reference", (_, path) => {
  const anchors = anchorsOfSite("reference");
  const names = namesOf(read(`packages/${path}`));
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !anchors.has(name.toLowerCase()))).toEqual([]);
});

test("each option has an anchor in the reference", () => {
  const anchors = [...anchorsOfSite("reference")];
  const exported = new Set(Object.values(entries).flatMap((path) => namesOf(read(`packages/${path}`))));
  const sources = globSync("packages/*/src/**/*.{ts,tsx}", { cwd: root }).map(read);
  const options = sources.flatMap((source) => optionsOf(source, exported));
  expect(options.length).toBeGreaterThan(80);
  const isThere = (name: string) => anchors.some((anchor) => anchor.endsWith(`-${name.toLowerCase()}`));
  expect(options.filter((name) => !isThere(name))).toEqual([]);
});

test("each error of the client and each refusal of the proxy has an anchor on one page", () => {
  const anchors = anchorsOfSite("reference/errors.html");
  const codes = [...read("packages/core/src/vocabulary/errors.ts").matchAll(/readonly code = "(.*?)"/g)];
  const refusals = [
    ...read("packages/worker-proxy/src/refusals/texts.ts").matchAll(/^ {2}(\w+): \[\d+, "[^"]*"\],$/gm),
  ];
  expect([codes.length > 8, refusals.length > 20]).toEqual([true, true]);
  expect([...codes, ...refusals].filter(([, code = ""]) => !anchors.has(code))).toEqual([]);
});

test("llms.txt lists each page, and each page is there as Markdown", () => {
  const list = readSite("llms.txt");
  const paths = [...list.matchAll(/^- \[.*?\]\((.*?)\)/gm)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(60);
  const full = readSite("llms-full.txt");
  expect(paths.filter((path) => !full.includes(`<!-- ${path} -->\n\n${readSite(path).trim()}`))).toEqual([]);
  expect(full).not.toMatch(/<LiveExample|class="signature"|^<<< |@include/m);
});

test("a word of a page that is only searched is not shown in its excerpt", () => {
  const page = readSite("recipes/german.html");
  expect(page).toContain("Errors, forms and attachments");
  expect(page).not.toContain("⟦");
});

/** The pages in all packages. */
const packed: string[] = [];

describe.each(["core", "react", "worker-proxy", "durable", "ai-sdk", "emulator", "mcp", "otel"])(
  "the package %s",
  (name) => {
    test("is packed with pages about it, without pictures and dead links", () => {
      const folder = join(packagePages, name);
      execFileSync(process.execPath, [join(root, "docs/.vitepress/package-pages.ts"), name, folder]);
      const pages = globSync("**/*", { cwd: folder }).filter((path) => path.includes("."));
      expect(pages.length).toBeGreaterThan(0);
      packed.push(...pages);
      expect(pages.filter((path) => !path.endsWith(".md"))).toEqual([]);
      const dead = pages.flatMap((path) => {
        const links = readFileSync(join(folder, path), "utf8").matchAll(/\]\(((?!\w+:|#)[^)\n#]+\.md)/g);
        return [...links].filter(([, link = ""]) => !existsSync(join(folder, dirname(path), link)));
      });
      expect(dead).toEqual([]);
    });

    test("tells coding agents its rules in less than 150 lines", () => {
      const text = read(`packages/${name}/AGENTS.md`);
      expect(text.split("\n").length).toBeLessThan(150);
      expect(text).toContain("## Never");
      expect(JSON.parse(read(`packages/${name}/package.json`)).files).toEqual(
        expect.arrayContaining(["docs", "AGENTS.md"]),
      );
    });
  },
);

test("Each guide is packed once, in one of the packages", () => {
  const guides = globSync("{start,guides,recipes}/*.md", { cwd: join(root, "docs") }).map((path) =>
    path.replaceAll("\\", "/"),
  );
  expect(packed.filter((path) => /^(start|guides|recipes)\//.test(path)).sort()).toEqual(guides.sort());
});

/** Names of the fields of exported interfaces whose name ends in `Options`. */
function optionsOf(source: string, exported: ReadonlySet<string>): string[] {
  return [...source.matchAll(/^export interface (\w*Options)\b.*?^\}/gms)]
    .filter(([, name = ""]) => exported.has(name))
    .flatMap(([block]) => [...block.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name = ""]) => name));
}
