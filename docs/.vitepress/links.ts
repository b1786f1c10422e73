import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { repository } from "./repository.ts";

/** Folders of `docs/` without pages on the site: readers find them in the repository. */
export const unpublished = ["decisions", "examples"];

/**
 * Points relative links out of the site to the repository's page, and those to a `README.md` to its folder. Without the
 * repository's address such a link becomes plain text.
 */
export function linksToRepository(md: MarkdownRenderer, docs: string): void {
  md.core.ruler.push("links-to-repository", ({ tokens, env }) => {
    for (const { children } of tokens) {
      let isPlain = false;
      for (const token of children ?? []) {
        if (token.type === "link_open") {
          const href = token.attrGet("href") ?? "";
          if (!/^[\w.]/.test(href) || /^\w+:/.test(href)) continue;
          const address = resolveLink(href, dirname(env.realPath ?? env.path));
          isPlain = address === undefined;
          if (address !== undefined) token.attrSet("href", address);
        }
        if (!isPlain || !token.type.startsWith("link_")) continue;
        token.tag = "span";
        token.attrs = null;
        if (token.type === "link_close") isPlain = false;
      }
    }
  });

  /** Returns the address on the site or in the repository; undefined without a repository address. */
  function resolveLink(href: string, folder: string): string | undefined {
    const [path = "", anchor] = href.split("#");
    const target = join(folder, decodeURI(path));
    const [top = ""] = relative(docs, target).split("/");
    if (top !== ".." && !unpublished.includes(top)) return href.replace(/README\.md(?=#|$)/, "index.md");
    if (!existsSync(target)) throw new Error(`${folder} links to ${href}, which does not exist.`);
    const page = relative(dirname(docs), target);
    return repository && `${repository}/blob/main/${page}${anchor ? `#${anchor}` : ""}`;
  }
}
