import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { plainMarkdown } from "./plain-markdown.ts";
import { pagesOf } from "./sidebar.ts";

/*
 * Writes the pages that concern one package into its `docs/`, before it is packed:
 * `node docs/.vitepress/package-pages.ts core`. A second argument names another folder.
 */

const root = dirname(dirname(import.meta.dirname));
const [, , name = "core", folder = join(root, "packages", name, "docs")] = process.argv;
await writePackagePages(name, folder);

/** Writes the pages of a package into a folder. */
async function writePackagePages(name: string, folder: string): Promise<void> {
  // reads all sources as soon as it is loaded
  if (!existsSync(join(root, "docs/reference"))) (await import("./reference/write.ts")).writeReference();
  const all = pathsOf(name).map((path): [string, string] => [path, plainMarkdown(path)]);
  const pages = new Map(all.filter(([path, text]) => concerns(name, path, text)));
  rmSync(folder, { recursive: true, force: true });
  for (const [path, text] of pages) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), withLocalLinks(text, path, pages));
  }
}

function pathsOf(name: string): string[] {
  const patterns = [
    "start/*.md",
    "guides/*.md",
    "recipes/*.md",
    "troubleshooting.md",
    `reference/${name}*.md`,
    "reference/errors.md",
  ];
  return patterns.flatMap((pattern) => pagesOf(pattern).map(({ path }) => path));
}

/** A page concerns the packages that it names. */
function concerns(name: string, path: string, text: string): boolean {
  return !/^(start|guides|recipes)\//.test(path) || text.includes(`@sluice/${name}`);
}

/** Keeps links between the pages, and makes text of those that lead elsewhere. */
function withLocalLinks(text: string, path: string, pages: ReadonlyMap<string, string>): string {
  return text.replace(/\[([^\]\n]+)\]\(((?!\w+:|#)[^)\n]+)\)/g, (link, label: string, href: string) => {
    const [target = ""] = href.split("#");
    return pages.has(join(dirname(path), target)) ? link : label;
  });
}
