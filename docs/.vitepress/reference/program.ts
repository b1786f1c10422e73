import ts from "typescript";
import { entries, repositoryFolder } from "./entries.ts";

const program = ts.createProgram([...entries.values()], {
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2024.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  jsx: ts.JsxEmit.ReactJSX,
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noEmit: true,
  types: [],
  // the sources of the packages, so that a name is one symbol everywhere
  paths: Object.fromEntries([...entries].map(([entry, source]) => [entry, [source]])),
});

export const checker = program.getTypeChecker();

/** The names that an entry point exports, with their symbols. */
export function listExports(source: string): Map<string, ts.Symbol> {
  const file = program.getSourceFile(source);
  const module = file && checker.getSymbolAtLocation(file);
  if (!module) throw new Error(`${source} exports nothing.`);
  return new Map(
    checker
      .getExportsOfModule(module)
      .map((symbol) => [
        symbol.name,
        symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
      ]),
  );
}

/** Tells if a declaration is in the sources of the packages. */
export function isOurs(node: ts.Node): boolean {
  const { fileName } = node.getSourceFile();
  return fileName.startsWith(`${repositoryFolder}/packages/`) && !fileName.includes("/node_modules/");
}
