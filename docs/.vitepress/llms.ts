import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { plainMarkdown } from "./plain-markdown.ts";
import { groups, listPagesInGroup, pagesAt } from "./sidebar.ts";

/**
 * Writes for programs that read: `llms.txt`, the list of pages, `llms-full.txt`, all pages in one, and each page as
 * Markdown beside its HTML.
 */
export function writeForPrograms(folder: string): void {
  const menu = groups.map((text) => ({ text, pages: listPagesInGroup(text) }));
  const all = [...menu, { text: "The gateway", pages: pagesAt("spec/*.md") }];
  const lists = all.map(({ text, pages }) => {
    const lines = pages.map(
      ({ path, text: title, description }) => `- [${title}](${path})${description ? `: ${description}` : ""}`,
    );
    return `## ${text}\n\n${lines.join("\n")}`;
  });
  writeFileSync(join(folder, "llms.txt"), `${[head, ...lists].join("\n\n")}\n`);
  const paths = all.flatMap(({ pages }) => pages.map(({ path }) => path));
  const texts = new Map(paths.map((path) => [path, plainMarkdown(path)]));
  for (const [path, text] of texts) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const parts = [...texts].map(([path, text]) => `<!-- ${path} -->\n\n${text.trim()}`);
  writeFileSync(join(folder, "llms-full.txt"), `${[head, ...parts].join("\n\n")}\n`);
}

const head =
  "# Sluice\n\n> Chat, images and video tasks from a multi-model gateway, for pages, Workers and servers: a client, React hooks, a Worker that has the key, and an emulator of the gateway.";
