import { existsSync, globSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { plainMarkdown } from "./plain-markdown.ts";
import { pagesOf } from "./sidebar.ts";
import { writePage } from "./write-page.ts";

/*
 * Writes the pages about one package into its `docs/`, before it is packed: `node docs/.vitepress/package-pages.ts core`.
 * A second argument names another folder. Each page is in one package. The reference is in none: its texts are those of
 * the declarations.
 */

const root = dirname(dirname(import.meta.dirname));
const [, , name = "core", folder = join(root, "packages", name, "docs")] = process.argv;
/** The packages with pages, and the pages that may go into them. */
const packages = ["core", "react", "worker-proxy", "durable", "ai-sdk", "emulator", "mcp", "otel"];
const patterns = ["start/*.md", "guides/*.md", "recipes/*.md", "troubleshooting.md", "reference/errors.md"];
await writePackagePages(name, folder);

/** Writes the pages of a package into a folder. */
async function writePackagePages(name: string, folder: string): Promise<void> {
  // reads all sources as soon as it is loaded
  if (!existsSync(join(root, "docs/reference"))) (await import("./reference/write.ts")).writeReference();
  const all = patterns
    .flatMap((pattern) => pagesOf(pattern))
    .map(({ path }) => [path, plainMarkdown(path)] as const);
  const pages = new Map(all.filter(([path, text]) => packageOf(path, text) === name));
  for (const [path, text] of pages) writePage(join(folder, path), withLocalLinks(text, path, pages));
  for (const path of globSync("**/*.md", { cwd: folder }))
    if (!pages.has(path)) rmSync(join(folder, path), { force: true });
}

/** Returns the package that a page names most often; of several the first. */
function packageOf(path: string, text: string): string {
  if (!/^(start|guides|recipes)\//.test(path)) return "core";
  const counts = packages.map((name) => text.split(`@sluice/${name}`).length);
  return packages[counts.indexOf(Math.max(...counts))] as string;
}

/** Keeps links between the pages, and makes text of those that lead elsewhere. */
function withLocalLinks(text: string, path: string, pages: ReadonlyMap<string, string>): string {
  return text.replace(/\[([^\]\n]+)\]\(((?!\w+:|#)[^)\n]+)\)/g, (link, label: string, href: string) => {
    const [target = ""] = href.split("#");
    return pages.has(join(dirname(path), target)) ? link : label;
  });
}
