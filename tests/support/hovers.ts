import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { API, type Project, SignatureKind, SymbolFlags, type Type } from "typescript/unstable/sync";
import { sources } from "../../scripts/sources.ts";

type Symbol = Type extends { getSymbol(): infer Found } ? NonNullable<Found> : never;

/** One public name, or one field of it, with the text that an editor shows on hover. */
export interface Hover {
  /** `ChatStoreOptions.maxSteps`: the name as a reader finds it. */
  readonly name: string;
  /** Path of the file that declares it. */
  readonly file: string;
  /** The doc comment in one line, without its tags; empty without one. */
  readonly text: string;
  /** Each tag with its text: `default 8`. */
  readonly tags: readonly string[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Folder of the files of each package: the sources or the declarations. */
type Position = "src" | "dist" | ".tmp/packed/dist";

/** Compiler options of a user's project whose packages are at a position. */
export const createOptions = (position: Position) => ({
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  target: "es2022",
  module: "esnext",
  moduleResolution: "bundler",
  jsx: "react-jsx",
  lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
  types: [],
  paths: Object.fromEntries(Object.entries(sources).map(([name, path]) => [name, [locate(path, position)]])),
});

/**
 * Reads the hovers of all that each of `entries` exports, and of every field that can be reached from there: of
 * options, results and states, through unions, lists, promises and callbacks.
 */
export function readHovers<Entry extends string>(
  entries: readonly Entry[],
  position: Position = "src",
): Record<Entry, Hover[]> {
  const files = entries.map((entry) => locate(root + entry, position));
  mkdirSync(`${root}tests/.tmp`, { recursive: true });
  const folder = mkdtempSync(`${root}tests/.tmp/hovers-`);
  const config = `${folder}/tsconfig.json`;
  writeFileSync(config, JSON.stringify({ compilerOptions: createOptions(position), files }));
  const api = new API({ cwd: root });
  try {
    const project = api.updateSnapshot({ openProject: config }).getProject(config);
    if (!project) throw new Error(`${config} cannot be read`);
    return Object.fromEntries(
      entries.map((entry, nth) => [entry, collectHovers(project, files[nth] ?? "")]),
    ) as Record<Entry, Hover[]>;
  } finally {
    api.close();
    rmSync(folder, { recursive: true });
  }
}

/** Finds a source file of a package in another folder. */
function locate(path: string, position: Position): string {
  if (position === "src" || !path.includes("/packages/")) return path;
  return path.replace("/src/", `/${position}/`).replace(/\.tsx?$/, ".d.ts");
}

function collectHovers({ program, checker }: Project, file: string): Hover[] {
  const hovers = new Map<string, Hover>();
  const seen = new Set<number>();
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${file} exports nothing`);
  const symbols = checker
    .getExportsOfModule(module)
    .map((symbol) => (symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol));
  for (const symbol of symbols) add(symbol.name, symbol);
  // types before values, so that fields are called by the names of their types
  for (const symbol of symbols)
    if (symbol.flags & SymbolFlags.Type) walk(symbol.name, checker.getDeclaredTypeOfSymbol(symbol));
  for (const symbol of symbols)
    if (symbol.flags & SymbolFlags.Value && !isData(symbol))
      walk(symbol.name, checker.getTypeOfSymbol(symbol));
  return [...hovers.values()];

  function add(name: string, symbol: Symbol): void {
    const text = symbol.getDocumentationComment(checker).replace(/\s+/g, " ").trim();
    const tags = symbol.getJsDocTags(checker).map((tag) => `${tag.name} ${tag.text ?? ""}`.trim());
    hovers.set(name, { name, file: symbol.declarations[0]?.path ?? "", text, tags });
  }

  function walk(path: string, type: Type | undefined): void {
    if (!type || seen.has(type.id)) return;
    seen.add(type.id);
    const name = findName(type) ?? path;
    if (type.isUnionType() || type.isIntersectionType()) {
      for (const part of type.getTypes() ?? []) walk(name, part);
      return;
    }
    if (type.isTypeReference()) for (const part of checker.getTypeArguments(type)) walk(path, part);
    walkSignatures(path, type);
    for (const property of checker.getPropertiesOfType(type)) {
      if (!isOurs(property) || property.name.startsWith("__@")) continue;
      const own = `${name}.${property.name}`;
      // if a variant of the property has no doc, the entry has none
      if (hovers.get(own)?.text !== "") add(own, property);
      walk(own, checker.getTypeOfSymbol(property));
    }
  }

  function walkSignatures(path: string, type: Type): void {
    for (const kind of [SignatureKind.Call, SignatureKind.Construct])
      for (const signature of checker.getSignaturesOfType(type, kind)) {
        const parameters = signature.getParameters();
        if (!parameters.concat(type.getSymbol() ?? []).some(isOurs)) continue;
        for (const parameter of parameters) walk(path, checker.getTypeOfSymbol(parameter));
        walk(path, checker.getReturnTypeOfSignature(signature));
      }
  }

  function findName(type: Type): string | undefined {
    const symbol = type.getAliasSymbol() ?? type.getSymbol();
    return symbol && isOurs(symbol) && !symbol.name.startsWith("__") ? symbol.name : undefined;
  }
}

/** True for tables, their look-ups, and schemas: the docs of their fields are at the types that they agree with. */
function isData({ name }: Symbol): boolean {
  return /^(?:\w+Models|\w+ModelOf|\w+Limits|\w+Requests?|toolCall)$/.test(name);
}

function isOurs({ declarations }: Symbol): boolean {
  return declarations.some(({ path }) =>
    /\/packages\/(?:(?:core|react|ai-sdk)\/src|[\w-]+\/(?:\.tmp\/packed\/)?dist)\//.test(path),
  );
}
