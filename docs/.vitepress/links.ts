import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { repository } from "./repository.ts";

/** Leads relative links where they lead on GitHub: out of `docs/` to the repository's page, and `README.md` to its folder. */
export function linksToRepository(md: MarkdownRenderer, docs: string): void {
  md.core.ruler.push("links-to-repository", ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type !== "link_open") continue;
      const href = token.attrGet("href") ?? "";
      if (/^[\w.]/.test(href) && !/^\w+:/.test(href))
        token.attrSet("href", addressOf(href, dirname(env.realPath ?? env.path)));
    }
  });

  function addressOf(href: string, folder: string): string {
    const [path = "", anchor] = href.split("#");
    const target = join(folder, decodeURI(path));
    if (!relative(docs, target).startsWith("..")) return href.replace(/README\.md(?=#|$)/, "index.md");
    if (!existsSync(target)) throw new Error(`${folder} links to ${href}, which does not exist.`);
    const page = relative(dirname(docs), target);
    return `${repository}/blob/main/${page}${anchor ? `#${anchor}` : ""}`;
  }
}
