import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type ts from "typescript";
import { writePage } from "../write-page.ts";
import { type ReferencePage, referencePages } from "./entries.ts";
import { errorCatalogue } from "./error-catalogue.ts";
import { isFunction, renderFunctionPage, renderPage } from "./page.ts";
import { listExports } from "./program.ts";

const folder = join(dirname(dirname(import.meta.dirname)), "reference");

/**
 * Writes the reference, `docs/reference/*.md`, from the doc comments of all exported names: a page for each part of an
 * entry point, and one for each function.
 */
export function writeReference(): void {
  const pages = referencePages().map((page) => ({ page, symbols: listSymbols(page) }));
  const slugs = createFunctionSlugs(pages);
  const links = new Map(
    pages.toReversed().flatMap(({ page, symbols }) => {
      const anchors = createAnchors(symbols.keys());
      return [...symbols].map(([name, symbol]) => {
        const own = slugs.get(symbol);
        return [name, own ? `${own}.html` : `${page.slug}.html#${anchors.get(name)}`];
      });
    }),
  );
  const exported = new Set(pages.flatMap(({ symbols }) => [...symbols.values()]));
  const whole = {
    find: (name: string) => links.get(name),
    isExported: (symbol: ts.Symbol) => exported.has(symbol),
    slugs,
  };
  mkdirSync(folder, { recursive: true });
  const written = new Set<string>();
  for (const [order, { page, symbols }] of pages.entries()) {
    const text = page.title.replace(/^.*: /, "");
    const group = page.entry.split("/").slice(0, 2).join("/");
    const head = { order, outline: 2, editLink: false, group, sidebar: text };
    const own = { ...whole, anchors: createAnchors(symbols.keys()) };
    write(page.slug, head, renderPage(page, symbols, own));
    for (const [name, symbol] of symbols) {
      const slug = slugs.get(symbol);
      // the first of several entries that export a function has its page
      if (!slug || written.has(slug)) continue;
      write(
        slug,
        { ...head, order: order + 0.5, sidebar: name },
        renderFunctionPage(name, symbol, page, own),
      );
      written.add(slug);
    }
    written.add(page.slug);
  }
  const errors = pages.find(({ page }) => page.slug === "core-errors");
  if (!errors) throw new Error("packages/core/src/entries/index.ts has no part `// Errors`.");
  write(
    "errors",
    { order: 0, outline: [2, 3], editLink: false, sidebar: "All errors" },
    errorCatalogue(errors.symbols, whole.find),
  );
  write("index", { sidebar: "All names", outline: 2, editLink: false }, writeIndex(pages, slugs));
  // at the end: while the site is built, packing a package reads these pages
  for (const name of readdirSync(folder))
    if (!written.has(name.replace(/\.md$/, "")) && !/^(?:errors|index)\.md$/.test(name))
      rmSync(join(folder, name), { force: true });
}

interface Exports {
  readonly page: ReferencePage;
  readonly symbols: ReadonlyMap<string, ts.Symbol>;
}

/** File names of the pages of functions: the name, or that of the entry and the name, where two are called the same. */
function createFunctionSlugs(pages: readonly Exports[]): ReadonlyMap<ts.Symbol, string> {
  const slugs = new Map<ts.Symbol, string>();
  const taken = new Set(["errors", "index", ...pages.map(({ page }) => page.slug)]);
  for (const { page, symbols } of pages)
    for (const [name, symbol] of symbols) {
      if (!isFunction(symbol) || slugs.has(symbol)) continue;
      const short = name.toLowerCase();
      const slug = taken.has(short) ? `${page.slug}-${short}` : short;
      slugs.set(symbol, slug);
      taken.add(slug);
    }
  return slugs;
}

function listSymbols({ source, exports }: ReferencePage): Map<string, ts.Symbol> {
  const words = new Set(exports.match(/\w+/g));
  return new Map([...listExports(source)].filter(([name]) => words.has(name)));
}

/** Anchors of names: in lower case, as links have them. Of `budget` and `Budget` the second is `budget-type`. */
function createAnchors(names: Iterable<string>): Map<string, string> {
  const all = [...names];
  const createAnchor = (name: string) =>
    /^[A-Z]/.test(name) && all.some((other) => other !== name && other.toLowerCase() === name.toLowerCase())
      ? `${name.toLowerCase()}-type`
      : name.toLowerCase();
  return new Map(all.map((name) => [name, createAnchor(name)]));
}

function writeIndex(pages: readonly Exports[], slugs: ReadonlyMap<ts.Symbol, string>): string {
  const lists = pages.map(({ page, symbols }) => {
    const anchors = createAnchors(symbols.keys());
    const names = [...symbols]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, symbol]) => {
        const own = slugs.get(symbol);
        return `[\`${name}\`](./${own ? `${own}.md` : `${page.slug}.md#${anchors.get(name)}`})`;
      });
    return `## ${page.title}\n\n${names.join(" · ")}`;
  });
  return ["# Reference", "Every exported name. Its page has all of its options.", ...lists].join("\n\n");
}

function write(slug: string, head: object, body: string): void {
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  writePage(join(folder, `${slug}.md`), `---\n${lines.join("\n")}\n---\n\n${body}\n`);
}
