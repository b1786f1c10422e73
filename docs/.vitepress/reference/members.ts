import ts from "typescript";
import { checker, isOurs } from "./program.ts";

/** A field, option or method of an exported name. */
export interface Member {
  /** Dot path: `timeout.firstChunkMs`. */
  readonly path: string;
  /** All declarations of it that differ: a union has one for each of its types. */
  readonly declarations: readonly { readonly code: string; readonly symbol: ts.Symbol }[];
}

/** Deepest nesting of a field whose own fields are listed. */
const DEPTH = 3;

/**
 * Lists the members of a type that our packages declare, including members of types that are not exported. Omits exported
 * types of a union, because they have their own sections.
 */
export function listMembers(
  type: ts.Type,
  isExported: (symbol: ts.Symbol) => boolean,
  prefix = "",
): Member[] {
  const byName = Map.groupBy(
    listParts(type)
      .filter((part) => !type.isUnion() || !listNames(part).some(isExported))
      .flatMap((part) => checker.getPropertiesOfType(part))
      .toSorted((a, b) => readOrder(a) - readOrder(b)),
    ({ name }) => name,
  );
  return [...byName].flatMap(([name, symbols]) => {
    const declarations = distinct(symbols.flatMap((symbol) => listDeclarations(symbol, isExported)));
    if (declarations.length === 0 || name.startsWith("__@")) return [];
    const path = prefix + name;
    return [{ path, declarations }, ...nestedMembers(symbols, isExported, path)];
  });
}

function nestedMembers(
  symbols: readonly ts.Symbol[],
  isExported: (symbol: ts.Symbol) => boolean,
  path: string,
): Member[] {
  if (path.split(".").length >= DEPTH) return [];
  const members = symbols.flatMap((symbol) =>
    listParts(checker.getNonNullableType(checker.getTypeOfSymbol(symbol)))
      .filter((part) => !listNames(part).some(isExported))
      .flatMap((part) => listMembers(part, isExported, `${path}.`)),
  );
  const byPath = Map.groupBy(members, (member) => member.path);
  return [...byPath].map(([nested, same]) => ({
    path: nested,
    declarations: distinct(same.flatMap(({ declarations }) => declarations)),
  }));
}

/** The object types of a union; none of a function, a list or a plain value. */
function listParts(type: ts.Type): ts.Type[] {
  if (type.isUnion()) return type.types.flatMap(listParts);
  const isObject = (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0;
  const isOther = checker.isArrayLikeType(type) || type.getCallSignatures().length > 0;
  return isObject && !isOther ? [type] : [];
}

/** Symbols by whose names a type is printed. */
function listNames({ aliasSymbol, symbol }: ts.Type): ts.Symbol[] {
  return [aliasSymbol, symbol].filter((name) => name !== undefined);
}

function listDeclarations(
  symbol: ts.Symbol,
  isExported: (symbol: ts.Symbol) => boolean,
): { code: string; symbol: ts.Symbol }[] {
  return (symbol.declarations ?? []).flatMap((node) => {
    const isInternal = ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private;
    const isMember =
      ts.isPropertySignature(node) ||
      ts.isMethodSignature(node) ||
      ts.isPropertyDeclaration(node) ||
      ts.isMethodDeclaration(node) ||
      isInferred(node);
    if (!isOurs(node) || !isMember || isInternal) return [];
    return [
      {
        code: isInferred(node)
          ? printInferredCode(symbol)
          : withLiterals(printCode(node), symbol, isExported),
        symbol: (node as { symbol?: ts.Symbol }).symbol ?? symbol,
      },
    ];
  });
}

/** Returns true for a field of a schema. The types of requests are inferred from schemas. */
function isInferred(node: ts.Node): boolean {
  return ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node);
}

/** Order of a field: required ones first where the type is inferred, and elsewhere as it is written. */
function readOrder({ declarations = [], flags }: ts.Symbol): number {
  return declarations.some(isInferred) && flags & ts.SymbolFlags.Optional ? 1 : 0;
}

/** Text of a field whose type is inferred from its schema. */
function printInferredCode(symbol: ts.Symbol): string {
  const type = checker.getTypeOfSymbol(symbol);
  const mark = symbol.flags & ts.SymbolFlags.Optional ? "?" : "";
  return `${symbol.name}${mark}: ${checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation)}`;
}

/** Source text of a member, without comments and body. */
function printCode(node: ts.Node): string {
  const body = (node as { body?: ts.Node }).body;
  const text = node.getText();
  return (body ? text.slice(0, body.getStart() - node.getStart()) : text)
    .replace(/\/\*\*.*?\*\//gs, "")
    .replace(/^(?:(?:readonly|declare|override|abstract) )+/, "")
    .replace(/[;,]?\s*$/, "")
    .replace(/\s+/g, " ");
}

/** Replaces the name of a type that is not exported by its literals: `"queue" | "reject"`. */
function withLiterals(code: string, symbol: ts.Symbol, isExported: (symbol: ts.Symbol) => boolean): string {
  const type = checker.getNonNullableType(checker.getTypeOfSymbol(symbol));
  const { aliasSymbol } = type;
  if (!aliasSymbol || isExported(aliasSymbol) || !type.isUnion()) return code;
  if (!type.types.every((part) => part.isStringLiteral())) return code;
  const literals = type.types.map((part) => checker.typeToString(part)).join(" | ");
  return code.replace(new RegExp(`\\b${aliasSymbol.name}\\b(?=[^:]*$)`), () => literals);
}

function distinct<Item extends { readonly code: string; readonly symbol: ts.Symbol }>(items: Item[]): Item[] {
  const createKey = ({ code, symbol }: Item) =>
    `${code}\n${ts.displayPartsToString(symbol.getDocumentationComment(checker))}`;
  return [...new Map(items.map((item) => [createKey(item), item])).values()];
}
