import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type ts from "typescript";
import { writePage } from "../write-page.ts";
import { type ReferencePage, referencePages } from "./entries.ts";
import { errorCatalogue } from "./error-catalogue.ts";
import { pageOf } from "./page.ts";
import { exportsOf } from "./program.ts";

const folder = join(dirname(dirname(import.meta.dirname)), "reference");

/** Writes the reference, `docs/reference/*.md`, from the doc comments of all exported names. */
export function writeReference(): void {
  const pages = referencePages().map((page) => ({ page, symbols: symbolsOf(page) }));
  const links = new Map(
    pages.toReversed().flatMap(({ page, symbols }) => {
      const anchors = anchorsOf(symbols.keys());
      return [...anchors].map(([name, anchor]) => [name, `${page.slug}.html#${anchor}`]);
    }),
  );
  const exported = new Set(pages.flatMap(({ symbols }) => [...symbols.values()]));
  const whole = {
    find: (name: string) => links.get(name),
    isExported: (symbol: ts.Symbol) => exported.has(symbol),
  };
  mkdirSync(folder, { recursive: true });
  const old = new Set(readdirSync(folder));
  for (const [order, { page, symbols }] of pages.entries()) {
    const text = page.title.replace(/^.*: /, "");
    const group = page.entry.split("/").slice(0, 2).join("/");
    const head = { order, outline: 2, editLink: false, group, sidebar: text };
    write(page.slug, head, pageOf(page, symbols, { ...whole, anchors: anchorsOf(symbols.keys()) }));
  }
  const errors = pages.find(({ page }) => page.slug === "core-errors");
  if (!errors) throw new Error("packages/core/src/entries/index.ts has no part `// Errors`.");
  write(
    "errors",
    { order: 0, outline: [2, 3], editLink: false, sidebar: "All errors" },
    errorCatalogue(errors.symbols, whole.find),
  );
  write("index", { sidebar: "All names", outline: 2, editLink: false }, indexOf(pages));
  // at the end: while the site is built, packing a package reads these pages
  const slugs = ["errors", "index", ...pages.map(({ page }) => page.slug)];
  for (const slug of slugs) old.delete(`${slug}.md`);
  for (const name of old) rmSync(join(folder, name), { force: true });
}

function symbolsOf({ source, exports }: ReferencePage): Map<string, ts.Symbol> {
  const words = new Set(exports.match(/\w+/g));
  return new Map([...exportsOf(source)].filter(([name]) => words.has(name)));
}

/** Anchors of names: in lower case, as links have them. Of `budget` and `Budget` the second is `budget-type`. */
function anchorsOf(names: Iterable<string>): Map<string, string> {
  const all = [...names];
  const anchorOf = (name: string) =>
    /^[A-Z]/.test(name) && all.some((other) => other !== name && other.toLowerCase() === name.toLowerCase())
      ? `${name.toLowerCase()}-type`
      : name.toLowerCase();
  return new Map(all.map((name) => [name, anchorOf(name)]));
}

function indexOf(pages: readonly { page: ReferencePage; symbols: ReadonlyMap<string, ts.Symbol> }[]): string {
  const lists = pages.map(({ page, symbols }) => {
    const names = [...anchorsOf([...symbols.keys()].sort())].map(
      ([name, anchor]) => `[\`${name}\`](./${page.slug}.md#${anchor})`,
    );
    return `## ${page.title}\n\n${names.join(" · ")}`;
  });
  return ["# Reference", "Every exported name. Its page has all of its options.", ...lists].join("\n\n");
}

function write(slug: string, head: object, body: string): void {
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  writePage(join(folder, `${slug}.md`), `---\n${lines.join("\n")}\n---\n\n${body}\n`);
}
