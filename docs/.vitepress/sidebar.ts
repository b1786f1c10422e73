import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type { DefaultTheme } from "vitepress";

const docs = `${import.meta.dirname}/../`;

/** Groups of the menu, in order. A page names its own as `group` in its front matter. */
export const groups = [
  "Start",
  "Chat",
  "Media",
  "Your server",
  "Test",
  "Integrate",
  "Recipes",
  "Reference",
  "Help",
] as const;

type Group = (typeof groups)[number];

/** Pages that are written by hand. Those of the reference are generated, and name their package as `group`. */
const written = ["start/*.md", "guides/*.md", "recipes/*.md", "*.md"];

/** The menu: each group with its pages. The theme opens the group of the current page alone. */
export function sidebar(): DefaultTheme.SidebarItem[] {
  return groups.flatMap((group) => {
    const items = group === "Reference" ? referenceItems() : listPagesInGroup(group);
    return items.length > 0 ? [{ text: group, items, collapsed: true }] : [];
  });
}

/** The navigation: the first page of some groups. */
export function nav(): DefaultTheme.NavItemWithLink[] {
  const shown: readonly Group[] = ["Start", "Chat", "Recipes", "Reference"];
  const links = shown.flatMap((group) => {
    const [first] = listPagesInGroup(group);
    return first ? [{ text: group === "Chat" ? "Guides" : group, link: first.link }] : [];
  });
  const folders: Readonly<Record<string, string>> = { Start: "start", Guides: "guides" };
  return [
    ...links.map((item) => ({
      ...item,
      activeMatch: `^/${folders[item.text] ?? item.text.toLowerCase()}/`,
    })),
    // a separate app: `_self` bypasses the router of the site
    { text: "Studio", link: "/studio/", target: "_self" },
  ];
}

/** A page and its place in the menu. */
interface Page {
  /** Path in `docs/`. */
  readonly path: string;
  readonly link: string;
  readonly text: string;
  readonly order: number;
  readonly group: string | undefined;
  readonly description: string | undefined;
}

/** The pages of a group of the menu, in order. */
export function listPagesInGroup(group: Group): Page[] {
  if (group === "Reference") return pagesAt("reference/*.md");
  return written
    .flatMap(pagesAt)
    .filter((page) => page.group === group)
    .sort(byOrder);
}

/** The reference: its index and the errors, then a list for each package. */
function referenceItems(): DefaultTheme.SidebarItem[] {
  const packages = Map.groupBy(listPagesInGroup("Reference"), ({ group }) => group);
  return [...packages].flatMap(([text, items]): DefaultTheme.SidebarItem[] =>
    text ? [{ text, items, collapsed: true }] : items,
  );
}

/** The pages of a pattern, in order. */
export function pagesAt(pattern: string): Page[] {
  return globSync(pattern, { cwd: docs })
    .filter((path) => path !== "index.md")
    .map(readPage)
    .sort(byOrder);
}

function byOrder(a: Page, b: Page): number {
  return a.order - b.order || a.link.localeCompare(b.link);
}

/** Reads what the menu shows of a page: its title, and `order` and `group` of its front matter. */
function readPage(path: string): Page {
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
