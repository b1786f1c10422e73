import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type { DefaultTheme } from "vitepress";

const docs = `${import.meta.dirname}/../`;

/** Folders of pages, in the order of the sidebar. The pages of the last one lie beside the folders. */
export const sections: readonly { text: string; pages: string; collapsed?: boolean }[] = [
  { text: "Quick starts", pages: "start/*.md" },
  { text: "Guides", pages: "guides/*.md" },
  { text: "Recipes", pages: "recipes/*.md" },
  { text: "Reference", pages: "reference/*.md" },
  { text: "Good to know", pages: "*.md" },
  { text: "The gateway", pages: "spec/*.md" },
  { text: "Decisions", pages: "decisions/*.md", collapsed: true },
];

/** The sidebar: a section for each folder, an entry for each page. A new page needs no second place. */
export function sidebar(): DefaultTheme.SidebarItem[] {
  return sections.flatMap(({ text, pages, collapsed = false }) => {
    const items = itemsOf(pages);
    return items.length > 0 ? [{ text, items, collapsed }] : [];
  });
}

/** The navigation: the first page of each of the first sections. */
export function nav(): DefaultTheme.NavItemWithLink[] {
  const pagesOfSections = sections.slice(0, 4).flatMap(({ text, pages }) => {
    const [first] = pagesOf(pages);
    return first ? [{ text, link: first.link, activeMatch: `^/${pages.split("/")[0]}/` }] : [];
  });
  return [
    ...pagesOfSections,
    { text: "Try it", link: "/live" },
    // a page of its own: the router of this site has none of that name
    { text: "Studio", link: "/studio/", target: "_self" },
  ];
}

/** A page and its place in the sidebar. */
interface Page {
  /** Path in `docs/`. */
  readonly path: string;
  readonly link: string;
  readonly text: string;
  readonly order: number;
  readonly group: string | undefined;
  readonly description: string | undefined;
}

function itemsOf(pattern: string): DefaultTheme.SidebarItem[] {
  const groups = Map.groupBy(pagesOf(pattern), ({ group }) => group);
  return [...groups].flatMap(([group, items]): DefaultTheme.SidebarItem[] =>
    group ? [{ text: group, items, collapsed: false }] : items,
  );
}

/** The pages of a section, in order. */
export function pagesOf(pattern: string): Page[] {
  return globSync(pattern, { cwd: docs })
    .filter((path) => path !== "index.md")
    .map(pageOf)
    .sort((a, b) => a.order - b.order || a.link.localeCompare(b.link));
}

/** Reads what the sidebar shows of a page: its title, and `order` and `group` of its front matter. */
function pageOf(path: string): Page {
  const source = readFileSync(docs + path, "utf8");
  const [, front = ""] = /^---\n(.*?)\n---\n/s.exec(source) ?? [];
  const field = (name: string) => new RegExp(`^${name}: *"?(.*?)"?(?: #.*)?$`, "m").exec(front)?.[1];
  const isIndex = /^(index|README)\.md$/.test(basename(path));
  return {
    path,
    link: `/${path.replace(/(README|index)?\.md$/, "")}`,
    text: field("sidebar") ?? field("title") ?? /^# (.*)$/m.exec(source)?.[1]?.replaceAll("`", "") ?? path,
    order: isIndex ? -1 : Number(field("order") ?? 1000),
    group: field("group"),
    description: field("description"),
  };
}
