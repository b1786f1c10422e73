import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { sources } from "../../scripts/sources.ts";
import { entries } from "../support/entries.ts";

/** All that shows a reader how to use a name. */
const shown = globSync(
  [
    "README.md",
    "docs/{guides,recipes,start}/**/*.md",
    "{packages,labs}/*/*.md",
    "{docs/examples,examples,labs}/**/*.{ts,tsx}",
  ],
  { cwd: join(import.meta.dirname, "../.."), exclude: ["**/{node_modules,dist,test}/**"] },
)
  .map((file) => readFileSync(join(import.meta.dirname, "../..", file), "utf8"))
  .join("\n");

/* The names that an app can import from an entry, types included. */

test("the core's entry lists each name once and by hand", () => {
  const source = readIndex("core/src/entries/index.ts");
  const listed = listDeclared(source);
  expect(listed.length).toBeGreaterThan(10);
  expect(new Set(listed).size).toBe(listed.length);
  const rest = source.replace(/^export (?:type )?\{[^}]*\} from ".*";$/gm, "").replace(/\/\/.*$/gm, "");
  expect(rest.trim()).toBe("");
});

test.each(Object.entries(entries))(
  "each name of %s has a doc comment, and each value in it an example",
  (_, path) => {
    const found = listExports(join(packages, path));
    expect(found.length).toBeGreaterThan(0);
    const isType = ({ kind }: Exported) => kind === "interface" || kind === "type";
    const poor = found.filter((one) => !(isType(one) ? one.doc : one.doc.includes("```ts")));
    expect(poor.map(({ name, kind }) => `${kind} ${name}`)).toEqual([]);
  },
);

test.each(Object.entries(entries))("each value of %s is in a guide, a README or an example", (_, path) => {
  const values = listExports(join(packages, path)).filter(({ kind }) =>
    ["function", "const", "class"].includes(kind),
  );
  expect(values.map(({ name }) => name).filter((name) => !new RegExp(`\\b${name}\\b`).test(shown))).toEqual(
    [],
  );
});

const packages = join(import.meta.dirname, "../../packages");
const DECLARATION =
  /(\/\*\*(?:(?!\*\/).)*\*\/\n(?:\/[/*][^\n]*\n)*)?^export (?:async |abstract )?(function|const|class|interface|type)\*? (\w+)/gms;
const LIST = /^export (?:type )?\{([^}]*)\} from "([^"]+)";$/gm;

interface Exported {
  readonly name: string;
  readonly kind: string;
  readonly doc: string;
}

/** Finds the declarations of the names that a file exports, in any file. */
function listExports(path: string): Exported[] {
  const source = readFileSync(path, "utf8");
  const own = [...source.matchAll(DECLARATION)].map(([, doc = "", kind = "", name = ""]) => ({
    name,
    kind,
    doc,
  }));
  const named = [...source.matchAll(LIST)].flatMap(([, list = "", from = ""]) => {
    const all = listExports(resolveFile(from, path));
    return splitNames(list).map((name) => {
      const [original = "", shown = original] = name.split(" as ");
      const declared = all.find((one) => one.name === original);
      return { kind: "unknown", doc: "", ...declared, name: shown };
    });
  });
  return [...own, ...named];
}

/** Resolves the path of an import: a file of the same or of another package. */
function resolveFile(from: string, importer: string): string {
  const entry = sources[from];
  if (entry) return entry;
  const target = join(dirname(importer), from.replace(/\.js$/, ""));
  return existsSync(`${target}.ts`) ? `${target}.ts` : `${target}.tsx`;
}

function readIndex(path: string): string {
  return readFileSync(join(packages, path), "utf8");
}

function listDeclared(source: string): string[] {
  return [...source.matchAll(/^export (?:type )?\{([^}]*)\} from ".*";$/gm)].flatMap(([, list = ""]) =>
    splitNames(list),
  );
}

function splitNames(list: string): string[] {
  return list
    .split(",")
    .map((name) => name.trim().replace(/^type /, ""))
    .filter((name) => name !== "");
}
