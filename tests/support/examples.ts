import { readdirSync, readFileSync } from "node:fs";

/** A piece of code in the documentation. */
export interface Example {
  /** File and number: `packages/core/README.md 3`. */
  readonly location: string;
  /** Page or source file that the example is in; its examples can import each other by file name. */
  readonly page: string;
  readonly language: "ts" | "tsx";
  /** File name in the info string: `src/worker.ts` of "```ts [src/worker.ts]". */
  readonly file: string | undefined;
  readonly code: string;
  /** The info string has the word `run`: the example is run against the emulator. */
  readonly isRun: boolean;
  /** Expected output of a run: the "```txt output" block after it. `…` matches any text. */
  readonly output: string | undefined;
}

const FENCE = /^( *)```(tsx?)\b([^\n]*)\n(.*?)^\1```(?:\s+```txt output\n(.*?)^\1```)?/gms;

/** The code blocks of a Markdown file. A block with the word `unchecked` is left out. */
export function readMarkdownExamples(root: string, page: string): Example[] {
  return readBlocks(page, readFileSync(root + page, "utf8"));
}

/** The code blocks of all doc comments in a folder. */
export function readCommentExamples(root: string, folder: string): Example[] {
  const files = readdirSync(root + folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  return files.flatMap((file) => {
    const comments = readFileSync(`${root}${folder}/${file}`, "utf8").match(/\/\*\*.*?\*\//gs) ?? [];
    return readBlocks(`${folder}/${file}`, comments.join("\n").replace(/^ *\* ?/gm, ""));
  });
}

function readBlocks(page: string, text: string): Example[] {
  return [...text.matchAll(FENCE)].flatMap(([, indent = "", language, info = "", code = "", output], at) =>
    /\bunchecked\b/.test(info)
      ? []
      : {
          location: `${page} ${at + 1}`,
          page,
          language: language as "ts" | "tsx",
          file: /[\w./-]+\.tsx?\b/.exec(info)?.[0],
          code: code.replace(new RegExp(`^${indent}`, "gm"), ""),
          isRun: /\brun\b/.test(info),
          output,
        },
  );
}

const IMPORT = /^import [^;]*;/gm;

/**
 * The example as a module: names of `offered` that it uses and does not declare are imported for it, and statements
 * stand in a function, as in their reader's code.
 *
 * @param offered gives the names of each module that the example may use without an import
 */
export function toModule(
  { code, location }: Example,
  offered: Readonly<Record<string, readonly string[]>>,
): string {
  const imports = (code.match(IMPORT) ?? []).map((line) => line.replace(/"(?:npm|jsr):/, '"'));
  const rest = code.replace(IMPORT, "");
  const known = listImports(code);
  for (const [, name] of rest.matchAll(/\b(?:const|let|function|class|interface|type) (\w+)/g))
    known.add(name as string);
  const used = new Set(rest.match(/\b[A-Za-z]\w+/g));
  const added = Object.entries(offered).flatMap(([source, names]) => {
    const missing = names.filter((name) => used.has(name) && !known.has(name));
    for (const name of missing) known.add(name);
    return missing.length > 0 ? [`import { ${missing.join(", ")} } from "${source}";`] : [];
  });
  const isModule = /^export /m.test(rest);
  const body = isModule ? rest : `export async function example() {\n${rest}\n}`;
  return `// ${location}\n${[...imports, ...added].join("\n")}\n${body}\n`;
}

/** The words of the import statements of an example. */
export function listImports(code: string): Set<string> {
  return new Set(code.match(IMPORT)?.join("\n").match(/\w+/g));
}

const EXPORTS = /^export (?:type )?\{(.*?)\}|^export (?:async )?(?:function|const|interface|type) (\w+)/gms;

/** The names that the source of an entry point exports. */
export function listNames(source: string): string[] {
  return [...source.matchAll(EXPORTS)].flatMap(([, list, one]) =>
    one ? [one] : (list?.match(/\w+(?=\s*(?:,|$))/g) ?? []),
  );
}
