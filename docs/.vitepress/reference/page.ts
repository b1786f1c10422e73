import ts from "typescript";
import type { ReferencePage } from "./entries.ts";
import { type Member, membersOf } from "./members.ts";
import { checker } from "./program.ts";
import { codeBlock, docOf, type Find } from "./text.ts";

/** Facts about all other pages that a page needs. */
interface Whole {
  /** Anchors of the page's names. */
  readonly anchors: ReadonlyMap<string, string>;
  readonly find: Find;
  readonly isExported: (symbol: ts.Symbol) => boolean;
}

/** A page of the reference as Markdown: a section for each name, a heading for each of its members. */
export function pageOf(
  { title, entry }: ReferencePage,
  symbols: ReadonlyMap<string, ts.Symbol>,
  whole: Whole,
): string {
  const sections = [...symbols]
    .sort(([a, first], [b, second]) => rankOf(first) - rankOf(second) || a.localeCompare(b))
    .map(([name, symbol]) => sectionOf(name, symbol, whole));
  return [`# ${title}`, `Import these names from \`${entry}\`.`, ...sections].filter(Boolean).join("\n\n");
}

/** Functions come first, then classes and constants, then types. */
function rankOf({ flags }: ts.Symbol): number {
  if (flags & ts.SymbolFlags.Function) return 0;
  return flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Variable) ? 1 : 2;
}

function sectionOf(name: string, symbol: ts.Symbol, { anchors, find, isExported }: Whole): string {
  const anchor = anchors.get(name) ?? name;
  const others: Find = (other) => (other === name ? undefined : find(other));
  const members = typesOf(symbol, find)
    .flatMap((type) => membersOf(type, isExported))
    .filter((member) => !isInherited(member, symbol));
  return [
    `## ${name} {:#${anchor}}`,
    ...signaturesOf(name, symbol).map((code) => codeBlock(code, others)),
    docOf(symbol, others),
    ...members.map((member) => memberOf(anchor, member, others)),
  ]
    .filter(Boolean)
    .join("\n\n");
}

function memberOf(anchor: string, { path, declarations }: Member, find: Find): string {
  const parts = declarations.flatMap(({ code, symbol }) => [codeBlock(code, find), docOf(symbol, find)]);
  return [`### ${path} {:#${anchor}-${path.toLowerCase().replaceAll(".", "-")}}`, ...parts]
    .filter(Boolean)
    .join("\n\n");
}

/** The types whose members are listed: an interface, a class, an alias, or options of a function that have no name. */
function typesOf(symbol: ts.Symbol, find: Find): ts.Type[] {
  const { flags, declarations = [] } = symbol;
  if (flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class | ts.SymbolFlags.TypeAlias))
    return [checker.getDeclaredTypeOfSymbol(symbol)];
  const isNamed = ({ type }: ts.ParameterDeclaration) => type?.getText().match(/\w+/g)?.some(find);
  return declarations
    .filter(ts.isFunctionDeclaration)
    .flatMap(({ parameters }) => parameters.filter((parameter) => !isNamed(parameter)))
    .map((parameter) => checker.getTypeAtLocation(parameter));
}

/** Tells if a class has a member from its exported base, whose section lists it. */
function isInherited({ declarations }: Member, symbol: ts.Symbol): boolean {
  return declarations.every(({ symbol: member }) =>
    member.declarations?.every(
      ({ parent }) =>
        ts.isClassDeclaration(parent) &&
        parent.name?.text === "GatewayError" &&
        symbol.name !== "GatewayError",
    ),
  );
}

const LONG = 400;

/** Declarations as a reader writes or reads them: of functions all overloads, of types their definition if it is short. */
function signaturesOf(name: string, symbol: ts.Symbol): string[] {
  const declarations = symbol.declarations ?? [];
  const functions = declarations.filter(ts.isFunctionDeclaration);
  const overloads = functions.filter(({ body }) => !body);
  const signatures = (overloads.length > 0 ? overloads : functions).map((node) => functionCode(name, node));
  if (signatures.length > 0) return signatures;
  const [node] = declarations;
  if (!node) return [];
  if (ts.isVariableDeclaration(node)) {
    const type = node.type?.getText() ?? checker.typeToString(checker.getTypeOfSymbol(symbol), node);
    return type.length > LONG ? [] : [`const ${name}: ${type}`];
  }
  // the built declarations have its fields
  if (ts.isTypeAliasDeclaration(node) && /^(?:Requests?|Params)Of</.test(node.type.getText()))
    return [`interface ${name}`];
  if (ts.isTypeAliasDeclaration(node)) {
    const text = node
      .getText()
      .replace(/^export /, "")
      .replace(/\/\*\*.*?\*\/\s*/gs, "");
    return text.length > LONG ? [] : [text.replace(/;$/, "")];
  }
  if (!ts.isInterfaceDeclaration(node) && !ts.isClassDeclaration(node)) return [];
  const bases = node.heritageClauses?.map((clause) => ` ${clause.getText()}`).join("") ?? "";
  const kind = ts.isClassDeclaration(node) ? "class" : "interface";
  return [`${kind} ${name}${parametersText(node)}${bases}`.replace(/\s+/g, " ")];
}

function functionCode(name: string, node: ts.FunctionDeclaration): string {
  const parameters = node.parameters.map((parameter) => {
    const own = ts.isIdentifier(parameter.name) ? parameter.name.text : "options";
    const type = parameter.type ?? undefined;
    const isOptional = parameter.questionToken ?? parameter.initializer;
    const rest = parameter.dotDotDotToken ? "..." : "";
    return `${rest}${own}${isOptional ? "?" : ""}: ${type?.getText() ?? "unknown"}`;
  });
  const signature = checker.getSignatureFromDeclaration(node);
  const result = node.type?.getText() ?? (signature && checker.typeToString(signature.getReturnType(), node));
  const start = `${name}${parametersText(node)}`;
  const line = `${start}(${parameters.join(", ")}): ${result}`;
  return line.length > 100 ? `${start}(\n  ${parameters.join(",\n  ")},\n): ${result}` : line;
}

function parametersText({ typeParameters }: { typeParameters?: ts.NodeArray<ts.Node> | undefined }): string {
  return typeParameters ? `<${typeParameters.map((parameter) => parameter.getText()).join(", ")}>` : "";
}
