import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Identifier, Node, SourceFile, Statement } from "typescript/unstable/ast";
import {
  isExportAssignment,
  isExportDeclaration,
  isIdentifier,
  isImportDeclaration,
  isModuleDeclaration,
  isNamedExports,
  isNamedImports,
  isSourceFile,
} from "typescript/unstable/ast/is";
import { API, type Project, SymbolFlags, type Type } from "typescript/unstable/sync";

type Symbol = Type extends { getSymbol(): infer Found } ? NonNullable<Found> : never;

/*
 * Trims the built declarations of a package to what its users need: the exports of its entries, and everything they
 * refer to. The rest describes functions that no user can import.
 */

/** Returns the text of each declaration file that an entry of the package reaches, by path. */
export function readDeclarations(folder: string): ReadonlyMap<string, string> {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entries = Object.values<unknown>(manifest.exports ?? {})
    .flatMap(findPaths)
    .map((path) => join(folder, path));
  const [first] = entries;
  if (!first) return new Map();
  const api = new API({ cwd: folder });
  try {
    const snapshot = api.updateSnapshot({ openFiles: entries });
    const project = snapshot.getDefaultProjectForFile(first);
    if (!project) throw new Error(`${first} cannot be read`);
    const graph = createGraph(project, join(folder, "dist/"));
    for (const path of entries) graph.reach(graph.readExports(path));
    return new Map(
      graph.readFiles().flatMap((file) => {
        const text = writeFile(file, graph);
        return text === "" ? [] : [[relative(folder, file.fileName), text] as const];
      }),
    );
  } finally {
    api.close();
  }
}

/** Finds the declarations in a target of `exports`, under any condition. */
function findPaths(target: unknown): readonly string[] {
  if (typeof target === "string") return target.endsWith(".d.ts") ? [target] : [];
  return typeof target === "object" && target !== null ? Object.values(target).flatMap(findPaths) : [];
}

/**
 * Creates the graph of the declarations in `dist`. `reach` adds a declaration and everything it refers to to `reached`.
 */
function createGraph({ program, checker }: Project, dist: string) {
  const reached = new Set<Statement>();
  return { reached, reach, readExports, readFiles, isReached };

  /** Reads the exports of a file, with aliases resolved. */
  function readExports(path: string): readonly Symbol[] {
    const file = program.getSourceFile(path);
    if (!file) throw new Error(`${path} is missing: build the package first`);
    const module = checker.getSymbolAtLocation(file);
    return module ? checker.getExportsOfModule(module).map(resolveAlias) : [];
  }

  function readFiles(): readonly SourceFile[] {
    const paths = program.getSourceFileNames().filter((path) => path.startsWith(dist));
    return paths.flatMap((path) => program.getSourceFile(path) ?? []);
  }

  function reach(symbols: readonly Symbol[]): void {
    const found = new Set(symbols.flatMap(findStatements).filter((statement) => !reached.has(statement)));
    if (found.size === 0) return;
    for (const statement of found) reached.add(statement);
    const names = [...found].flatMap(findIdentifiers);
    reach(checker.getSymbolAtLocation(names).flatMap((symbol) => (symbol ? resolveAlias(symbol) : [])));
  }

  /** Returns true for an import or export that is reached, or that comes from another package. */
  function isReached(name: Node): boolean {
    const symbol = checker.getSymbolAtLocation(name);
    const statements = symbol ? findStatements(resolveAlias(symbol)) : [];
    return statements.length === 0 || statements.some((statement) => reached.has(statement));
  }

  function resolveAlias(symbol: Symbol): Symbol {
    return symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  }

  /** Finds the statements of the package that declare something. */
  function findStatements({ declarations }: Symbol): readonly Statement[] {
    return declarations.flatMap((declaration) => {
      let node = declaration.path.startsWith(dist) ? declaration.resolve() : undefined;
      while (node?.parent && !isSourceFile(node.parent)) node = node.parent;
      return node && !isSourceFile(node) ? [node as Statement] : [];
    });
  }
}

function findIdentifiers(node: Node): readonly Identifier[] {
  const found: Identifier[] = isIdentifier(node) ? [node] : [];
  node.forEachChild((child) => {
    found.push(...findIdentifiers(child));
  });
  return found;
}

/** Writes the reached declarations of a file. Writes nothing if there are none. */
function writeFile(file: SourceFile, { reached, isReached }: ReturnType<typeof createGraph>): string {
  const used = new Set(
    file.statements
      .filter((statement) => reached.has(statement))
      .flatMap(findIdentifiers)
      .map(({ text }) => text),
  );
  const lines = file.statements.map((statement) => {
    if (isImportDeclaration(statement)) {
      const { name, namedBindings: names } = statement.importClause ?? {};
      if (!names || name) return statement.getText();
      if (!isNamedImports(names)) return used.has(names.name.text) ? statement.getText() : "";
      return pickNames(statement, names.elements, ({ name }) => used.has(name.text));
    }
    if (isExportDeclaration(statement)) {
      const names = statement.exportClause;
      if (!names || !isNamedExports(names) || names.elements.length === 0) return statement.getText();
      return pickNames(statement, names.elements, ({ name }) => isReached(name));
    }
    if (isExportAssignment(statement) || isModuleDeclaration(statement))
      throw new Error(`${file.fileName}: this kind of export is not supported: ${statement.getText()}`);
    return reached.has(statement) ? indentWithTabs(statement.getFullText().trim()) : "";
  });
  const written = lines.filter((line) => line !== "");
  return written.every((line) => /^(?:import|export \{\})/.test(line)) ? "" : `${written.join("\n")}\n`;
}

/** Writes an import or export with the needed names. Writes nothing if there are none. */
function pickNames<Specifier extends Node>(
  statement: Statement,
  specifiers: readonly Specifier[],
  isNeeded: (specifier: Specifier) => boolean,
): string {
  const names = specifiers.filter(isNeeded).map((specifier) => specifier.getText());
  return names.length > 0 ? statement.getText().replace(/\{[^}]*\}/, `{ ${names.join(", ")} }`) : "";
}

/** Replaces each level of indentation by one tab. */
function indentWithTabs(text: string): string {
  return text.replace(/^(?: {4})+/gm, (spaces) => "\t".repeat(spaces.length / 4));
}
