import { readdirSync, readFileSync } from "node:fs";

/** A piece of code in the documentation. */
export interface Example {
  /** File and number: `packages/core/README.md 3`. */
  readonly place: string;
  readonly language: "ts" | "tsx";
  readonly code: string;
}

const FENCE = /```(tsx?)(?: [\w-]+)?\n(.*?)```/gs;

/** The code blocks of a Markdown file. */
export function examplesOfMarkdown(root: string, file: string): Example[] {
  return blocksOf(file, readFileSync(root + file, "utf8"));
}

/** The code blocks of all doc comments in a folder. */
export function examplesOfComments(root: string, folder: string): Example[] {
  const files = readdirSync(root + folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  return files.flatMap((file) => {
    const comments = readFileSync(`${root}${folder}/${file}`, "utf8").match(/\/\*\*.*?\*\//gs) ?? [];
    return blocksOf(`${folder}/${file}`, comments.join("\n").replace(/^ *\* ?/gm, ""));
  });
}

function blocksOf(file: string, text: string): Example[] {
  return [...text.matchAll(FENCE)].map(([, language, code], at) => ({
    place: `${file} ${at + 1}`,
    language: language as "ts" | "tsx",
    code: code as string,
  }));
}

const IMPORT = /^import .*?;$/gms;

/**
 * The example as a module: what it does not import of the packages is imported for it, and statements stand in a
 * function, as in their reader's code.
 */
export function moduleOf(
  { code, place }: Example,
  exported: Readonly<Record<string, readonly string[]>>,
): string {
  const imports = code.match(IMPORT) ?? [];
  const rest = code.replace(IMPORT, "");
  const known = new Set<string>([...imports.join("\n").matchAll(/\w+/g)].map(([name]) => name));
  for (const [, name] of rest.matchAll(/\b(?:const|let|function|class|interface|type) (\w+)/g))
    known.add(name as string);
  const used = new Set(rest.match(/\b[A-Za-z]\w+/g));
  const added = Object.entries(exported).flatMap(([source, names]) => {
    const missing = names.filter((name) => used.has(name) && !known.has(name));
    for (const name of missing) known.add(name);
    return missing.length > 0 ? [`import { ${missing.join(", ")} } from "${source}";`] : [];
  });
  const isModule = /^export /m.test(rest);
  const body = isModule ? rest : `export async function example() {\n${rest}\n}`;
  return `// ${place}\n${[...imports, ...added].join("\n")}\n${body}\n`;
}

const EXPORTS = /^export (?:type )?\{(.*?)\}|^export (?:async )?(?:function|const|interface|type) (\w+)/gms;

/** The names that the source of an entry point exports. */
export function namesOf(source: string): string[] {
  return [...source.matchAll(EXPORTS)].flatMap(([, list, one]) =>
    one ? [one] : (list?.match(/\w+(?=\s*(?:,|$))/g) ?? []),
  );
}
