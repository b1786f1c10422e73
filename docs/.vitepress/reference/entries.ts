import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { entries as entryPoints } from "../../../tests/support/entries.ts";

export const repositoryFolder = dirname(dirname(dirname(import.meta.dirname)));

/** A page of the reference: some exports of one entry point. */
export interface ReferencePage {
  /** Entry point: `@sluice/media`. */
  readonly entry: string;
  readonly source: string;
  /** File name without its extension. */
  readonly slug: string;
  readonly title: string;
  /** Source text that exports the page's names. */
  readonly exports: string;
}

/** Entry points with the paths of their sources. */
export const entries: ReadonlyMap<string, string> = new Map(
  Object.entries(entryPoints).map(([entry, path]) => [entry, join(repositoryFolder, "packages", path)]),
);

/** All pages. An entry point has one, or one for each of its parts, which comments such as `// Errors` begin. */
export function referencePages(): ReferencePage[] {
  return [...entries].flatMap(([entry, source]) => {
    const text = readFileSync(source, "utf8");
    const slug = entry.replace("@sluice/", "").replaceAll("/", "-");
    const [, ...parts] = text.split(/^\/\/ ([A-Z][\w ]+)$/m);
    if (parts.length === 0) return { entry, source, slug, title: entry, exports: text };
    return parts.flatMap((title, at) => {
      const exports = parts[at + 1];
      const ending = title.toLowerCase().replace(/^the /, "").replaceAll(" ", "-");
      return at % 2 === 0 && exports
        ? { entry, source, slug: `${slug}-${ending}`, title: `${entry}: ${title.toLowerCase()}`, exports }
        : [];
    });
  });
}
