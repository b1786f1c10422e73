import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { sources } from "../../scripts/sources.ts";
import {
  type Example,
  listImports,
  listNames,
  readCommentExamples,
  readMarkdownExamples,
  toModule,
} from "./examples.ts";
import { hosts, imagined, imaginedFiles } from "./imagined.ts";

const root = `${import.meta.dirname}/../../`;
/** Files of the registry with examples in their doc comments. */
const copied = [
  "chat-form",
  "download",
  "form-fields",
  "image-form",
  "stored-list",
  "use-draft",
  "use-leave-warning",
  "video-form",
];

const pages = ["README.md", "packages/*/{README,AGENTS}.md", "{examples,labs}/*/README.md", "docs/**/*.md"];

/** All examples: of the READMEs, of the pages of the documentation, and of the doc comments. */
export function readAllExamples(): Example[] {
  const files = globSync(pages, { cwd: root, exclude: ["**/node_modules/**", "docs/{dist,reference}/**"] });
  return [
    ...files.sort().flatMap((file) => readMarkdownExamples(root, file)),
    ...readExampleFiles(),
    ...globSync("{packages,labs}/*/src", { cwd: root })
      .sort()
      .flatMap((folder) => readCommentExamples(root, folder)),
    ...readCommentExamples(root, "labs/registry/components/sluice"),
  ];
}

/** The files that pages include. Those of Solid have another JSX than React's, and are run by their own test. */
function readExampleFiles(): Example[] {
  const files = globSync("docs/examples/**/*.{ts,tsx}", {
    cwd: root,
    exclude: ["docs/examples/solid/*.tsx"],
  });
  return files.sort().map((location) => ({
    location,
    page: dirname(location),
    language: location.endsWith(".tsx") ? "tsx" : "ts",
    file: basename(location),
    code: readFileSync(root + location, "utf8"),
    isRun: false,
    output: undefined,
  }));
}

const compilerOptions = {
  target: "es2022",
  lib: ["es2024", "dom", "dom.iterable", "dom.asynciterable"],
  module: "esnext",
  moduleResolution: "bundler",
  jsx: "react-jsx",
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  types: ["node"],
  // the components that an app has taken home
  paths: { "@/*": [`${root}labs/registry/*`] },
};

/** Names of the packages that examples of doc comments use without an import. */
const exported: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    Object.entries(sources).map(([name, file]) => [name, listNames(readFileSync(file, "utf8"))]),
  ),
  ...Object.fromEntries(
    copied.map((name) => [
      `@/components/sluice/${name}`,
      listNames(readFileSync(`${root}labs/registry/components/sluice/${name}.ts`, "utf8")),
    ]),
  ),
  react: ["memo", "useState"],
};

/** Modules of examples, by their path. */
export type Modules = ReadonlyMap<string, Example>;

/**
 * Writes each example as a module into a folder, with two projects of TypeScript. `tsconfig.json` has all examples,
 * `tsconfig.first.json` has the first example of each page, which declares every name that it uses. A later example
 * imports everything that it uses from the packages, or has no imports and continues its page with the earlier imports.
 * The examples of a page share one folder. A file name in the info string names the module. If several examples have one
 * name, the last example has it.
 */
export function writeExamples(examples: readonly Example[], folder: string): Modules {
  rmSync(folder, { recursive: true, force: true });
  const modules = new Map<string, Example>();
  const imported = new Map<string, Set<string>>();
  const first: string[] = [];
  for (const [at, example] of examples.entries()) {
    const { page, file, language } = example;
    const isNamed =
      file && !examples.slice(at + 1).some((later) => later.page === page && later.file === file);
    const path = `${page}/${isNamed ? file : `example-${at}.${language}`}`;
    modules.set(`${folder}/${path}`, example);
    const earlier = imported.get(page);
    const own = listImports(example.code);
    const isPage = page.endsWith(".md");
    if (isPage && !earlier) first.push(path);
    const offered = isPage ? only(own.size > 0 ? undefined : earlier) : exported;
    write(`${folder}/${path}`, toModule(example, offered));
    imported.set(page, new Set([...(earlier ?? []), ...own]));
  }
  for (const location of new Set([...modules.keys()].map(dirname)))
    for (const [file, code] of Object.entries(imaginedFiles))
      if (!modules.has(`${location}/${file}`)) write(`${location}/${file}`, code);
  write(`${folder}/imagined.ts`, imagined);
  write(`${folder}/hosts.ts`, hosts);
  // as the types of each bundler say
  write(`${folder}/styles.d.ts`, 'declare module "*.css";\n');
  write(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions, include: ["."] }));
  write(
    `${folder}/tsconfig.first.json`,
    JSON.stringify({ compilerOptions, files: ["hosts.ts", "styles.d.ts", ...first] }),
  );
  return modules;
}

function only(names: ReadonlySet<string> = new Set()): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(exported).map(([source, all]) => [source, all.filter((name) => names.has(name))]),
  );
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
