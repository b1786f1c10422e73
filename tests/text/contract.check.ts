import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { readThreats } from "../../scripts/cases.ts";

/*
 * References of comments, tests and pages into docs/: "(spec, Errors)" is a heading of docs/spec/gateway.md,
 * "(wire, 2.5)" a rule of docs/spec/wire.md, "case 28" a threat that a test names (pnpm cases).
 */

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
/** Excludes installed and built files. The pages of the reference and of the packages are checked with the site. */
const exclude = (path: string) =>
  /(^|\/)(node_modules|dist|\.tmp|\.next|\.wrangler|docs\/reference|packages\/[\w-]+\/docs)(\/|$)/.test(path);
const files = (pattern: string) => globSync(pattern, { cwd: root, exclude }).sort();

const sources = files("{packages,labs,examples}/*/{src,test}/**/*.{ts,tsx}");
const tests = files("tests/**/*.{ts,tsx}").filter((path) => path !== "tests/text/contract.check.ts");
const pages = files("**/*.md");
const docs = pages.filter((path) => path.startsWith("docs/"));

const listHeadings = (page: string) => [...page.matchAll(/^#{1,6} (.+)$/gm)].map(([, text = ""]) => text);
const withoutQuotes = (text: string) => text.replaceAll("`", "").trim();

const sections = new Set(
  listHeadings(read("docs/spec/gateway.md"))
    .map(withoutQuotes)
    // "Family A and B" is found by "Family A" too, "Video task (query result)" by "Video task"
    .flatMap((heading) => [heading, heading.replace(/ \([^)]*\)$/, ""), heading.replace(/ and .*$/, "")]),
);
const rules = new Set([...read("docs/spec/wire.md").matchAll(/^- \*\*(\d+\.\d+)\*\*/gm)].map(([, n]) => n));
const cases = new Set([...readThreats().keys()].map(String));

describe("a reference resolves", () => {
  test("A reference to a section of the spec resolves", () => {
    expect(deadReferences([...sources, ...tests], deadSections)).toEqual([]);
  });

  test("A reference to a rule of the wire resolves", () => {
    expect(deadReferences([...sources, ...tests, ...docs], deadRules)).toEqual([]);
  });

  test("A reference to a case of the threats resolves", () => {
    const proxy = [...sources, ...tests].filter((path) =>
      /^(packages\/(?:worker-proxy|durable)|tests|examples)/.test(path),
    );
    expect(deadReferences([...proxy, ...docs, "SECURITY.md"], deadCases)).toEqual([]);
  });

  test.each(pages)("The links of %s lead somewhere", { tags: ["link"] }, (page) => {
    expect(deadLinks(page)).toEqual([]);
  });

  test.each(["ARCHITECTURE.md", "CONTRIBUTING.md"])(
    "Each source file that %s names exists",
    {
      tags: ["link"],
    },
    (page) => {
      const named = [...read(page).matchAll(/`([\w.-]+\/[\w./-]+\.tsx?)`/g)].map(([, path = ""]) => path);
      const all = files("{packages,labs,tests,scripts,docs,bench,examples}/**/*.{ts,tsx}");
      expect(named.filter((path) => !all.some((file) => `/${file}`.endsWith(`/${path}`)))).toEqual([]);
    },
  );
});

function deadReferences(paths: readonly string[], find: (text: string) => string[]): string[] {
  return paths.flatMap((path) => find(read(path)).map((reference) => `${path}: ${reference}`));
}

function deadSections(text: string): string[] {
  const flat = text.replace(/\n\s*(\*|\/\/)? ?/g, " ");
  return [...flat.matchAll(/\(spec[,:]\s*([\w`][^()]*(?:\([^()]*\)[^()]*)*)\)/g)]
    .map(([, section = ""]) => withoutQuotes(section))
    .filter((section) => !sections.has(section))
    .flatMap((section) => section.split(" and "))
    .filter((section) => !sections.has(section));
}

function deadRules(text: string): string[] {
  return [...text.matchAll(/\(wire, ([^)]*)\)/g)]
    .flatMap(([, numbers = ""]) => numbers.split(/, | and /))
    .filter((rule) => !rules.has(rule));
}

function deadCases(text: string): string[] {
  const titles = text.replace(/^\s*case \d+:/gm, "");
  return [...titles.matchAll(/\bcases? (\d+(?:(?:, | and | to )\d+)*)/g)]
    .flatMap(([, numbers = ""]) => numbers.match(/\d+/g) ?? [])
    .filter((number) => !cases.has(number));
}

/** Finds links within the repository to a missing file or heading. */
function deadLinks(page: string): string[] {
  const prose = read(page).replace(/^```[\s\S]*?^```/gm, "");
  return (
    [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = ""]) => link)
      // the build of the site generates the reference and checks its links
      .filter((link) => !/^[a-z]+:|(^|\/)reference\//.test(link))
      .filter((link) => {
        const [path = "", anchor] = link.split("#");
        const target = path ? join(dirname(page), path) : page;
        if (!existsSync(join(root, target))) return true;
        return (
          anchor !== undefined && !listHeadings(read(target)).some((heading) => toAnchor(heading) === anchor)
        );
      })
  );
}

/** The anchor that code hosts make of a heading. */
function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}
