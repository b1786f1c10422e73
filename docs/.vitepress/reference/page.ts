import ts from "typescript";
import type { ReferencePage } from "./entries.ts";
import { listMembers, type Member } from "./members.ts";
import { checker } from "./program.ts";
import { codeBlock, docCell, escapeHTML, type Find, readFirstSentence, writeDoc } from "./text.ts";

/** Details of all other pages that a page needs. */
interface Whole {
  /** Anchors of the page's names. */
  readonly anchors: ReadonlyMap<string, string>;
  readonly find: Find;
  readonly isExported: (symbol: ts.Symbol) => boolean;
  /** File names of the pages of functions, without extension. */
  readonly slugs: ReadonlyMap<ts.Symbol, string>;
}

/** The page of a part of an entry point: functions link to their own pages, and the members of types are folded. */
export function renderPage(
  { title, entry }: ReferencePage,
  symbols: ReadonlyMap<string, ts.Symbol>,
  whole: Whole,
): string {
  const sections = [...symbols]
    .sort(([a, first], [b, second]) => readRank(first) - readRank(second) || a.localeCompare(b))
    .map(([name, symbol]) => writeSection(name, symbol, whole));
  return [`# ${title}`, `Import these names from \`${entry}\`.`, ...sections].join("\n\n");
}

/** Functions come first, then classes and constants, then types. */
function readRank({ flags }: ts.Symbol): number {
  if (flags & ts.SymbolFlags.Function) return 0;
  return flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Variable) ? 1 : 2;
}

function writeSection(name: string, symbol: ts.Symbol, { anchors, find, isExported, slugs }: Whole): string {
  const anchor = anchors.get(name) ?? name;
  const heading = `## ${name} {:#${anchor}}`;
  if (isFunction(symbol))
    return [
      heading,
      readFirstSentence(symbol),
      `[Signature, options and examples](./${slugs.get(symbol)}.md)`,
    ]
      .filter(Boolean)
      .join("\n\n");
  const others: Find = (other) => (other === name ? undefined : find(other));
  const members = listTypes(symbol)
    .flatMap((type) => listMembers(type, isExported))
    .filter((member) => !isInherited(member, symbol))
    .map((member) => writeMember(anchor, member, others));
  return [
    heading,
    ...listSignatures(name, symbol).map((code) => codeBlock(code, others)),
    writeDoc(symbol, others),
    members.length > 0 &&
      `<details>\n<summary>${members.length} fields</summary>\n\n${members.join("\n\n")}\n\n</details>`,
  ]
    .filter(Boolean)
    .join("\n\n");
}

/** The page of a function: how to import and call it, its examples, and a table of all its options. */
export function renderFunctionPage(
  name: string,
  symbol: ts.Symbol,
  { entry }: ReferencePage,
  whole: Whole,
): string {
  const others: Find = (other) => (other === name ? undefined : whole.find(other));
  return [
    `# ${name} {:#${name.toLowerCase()}}`,
    `\`\`\`ts\nimport { ${name} } from "${entry}";\n\`\`\``,
    ...listSignatures(name, symbol).map((code) => codeBlock(code, others)),
    writeDoc(symbol, others),
    ...listParameters(symbol).map((parameter) => optionsTable(name, parameter, others, whole.isExported)),
  ]
    .filter(Boolean)
    .join("\n\n");
}

export function isFunction({ flags }: ts.Symbol): boolean {
  return (flags & ts.SymbolFlags.Function) !== 0;
}

/** The parameters of all overloads that have options: not the client, and no function, list or text. */
function listParameters({ declarations = [] }: ts.Symbol): ts.ParameterDeclaration[] {
  const functions = declarations.filter(ts.isFunctionDeclaration);
  const shown = functions.some(({ body }) => !body) ? functions.filter(({ body }) => !body) : functions;
  const byType = new Map(
    shown
      .flatMap(({ parameters }) => parameters)
      .filter(({ type }) => type && !/^(?:Client|Env)\b/.test(type.getText()))
      .map((parameter) => [parameter.type?.getText(), parameter]),
  );
  return [...byType.values()];
}

/** A table of the options of a parameter, those of nested options too; undefined if it has none. */
function optionsTable(
  name: string,
  parameter: ts.ParameterDeclaration,
  find: Find,
  isExported: (symbol: ts.Symbol) => boolean,
): string | undefined {
  // nested options stay in this table; each other exported type has its own section
  const isElsewhere = (symbol: ts.Symbol) => isExported(symbol) && !symbol.name.endsWith("Options");
  const rows = new Map<string, string>();
  for (const { path, declarations } of listBranches(checker.getTypeAtLocation(parameter)).flatMap((type) =>
    listMembers(type, isElsewhere),
  )) {
    const shown = declarations.find(({ symbol }) => symbol.getDocumentationComment(checker).length > 0);
    // parameters of a request differ by model: the section of the request has them
    if (!shown || rows.has(path) || path.startsWith("params.")) continue;
    const anchor = `${name.toLowerCase()}-${path.toLowerCase().replaceAll(".", "-")}`;
    const optional = /^\w+\?/.test(shown.code) ? "?" : "";
    rows.set(
      path,
      `| <a id="${anchor}"></a>\`${path}${optional}\` | ${typeCell(shown.code)} | ${docCell(shown.symbol, find)} |`,
    );
  }
  if (rows.size === 0) return undefined;
  const title = ts.isIdentifier(parameter.name) ? parameter.name.text : "options";
  const head = ["| field | type | meaning |", "| --- | --- | --- |"];
  return [`## ${title}`, [...head, ...rows.values()].join("\n")].join("\n\n");
}

/** The types that a type may be which depends on the model of the request. */
function listBranches(type: ts.Type): ts.Type[] {
  if (type.isUnion() && type.types.some(isConditional)) return type.types.flatMap(listBranches);
  if (!isConditional(type)) return [type];
  const { trueType, falseType } = type.root.node;
  return [trueType, falseType].flatMap((node) => listBranches(checker.getTypeFromTypeNode(node)));
}

function isConditional(type: ts.Type): type is ts.ConditionalType {
  return (type.flags & ts.TypeFlags.Conditional) !== 0;
}

/** Longest text of a type in a table; a longer one is on the page of its type. */
const LONGEST_TYPE = 80;

function typeCell(code: string): string {
  const type = code.replace(/^[^:(]*?\??: /, "").replace(/ \| undefined$/, "");
  return type.length > LONGEST_TYPE ? "" : `<code v-pre>${escapeHTML(type).replaceAll("|", "&#124;")}</code>`;
}

function writeMember(anchor: string, { path, declarations }: Member, find: Find): string {
  const parts = declarations.flatMap(({ code, symbol }) => [codeBlock(code, find), writeDoc(symbol, find)]);
  return [`### ${path} {:#${anchor}-${path.toLowerCase().replaceAll(".", "-")}}`, ...parts]
    .filter(Boolean)
    .join("\n\n");
}

/** The types whose members are listed: an interface, a class or an alias. */
function listTypes(symbol: ts.Symbol): ts.Type[] {
  const isType = symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class | ts.SymbolFlags.TypeAlias);
  return isType ? [checker.getDeclaredTypeOfSymbol(symbol)] : [];
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
function listSignatures(name: string, symbol: ts.Symbol): string[] {
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
