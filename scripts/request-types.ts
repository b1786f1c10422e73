import { globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { API, type Project, SymbolFlags, type Type } from "typescript/unstable/sync";

type Symbol = Type extends { getSymbol(): infer Found } ? NonNullable<Found> : never;

/*
 * Writes the types of requests out in the built declarations of the package that it runs in, field by field with their
 * docs: `node ../../scripts/request-types.ts`, after `tsc`. In the source a type is inferred from its schema. TypeScript
 * 7.0 shows no doc at a field of an inferred type (microsoft/typescript-go#4677), and the written type needs no valibot.
 */

/** A written interface: its doc, and the text of each field. */
interface Written {
  readonly name: string;
  readonly doc: string;
  readonly fields: readonly string[];
}

const NO_TRUNCATION = 1;
const root = process.cwd();
const config = resolve(root, "tsconfig.json");
const api = new API({ cwd: root });
try {
  const project = api.updateSnapshot({ openProject: config }).getProject(config);
  if (!project) throw new Error(`${config} cannot be read`);
  for (const source of globSync("src/**/*schema*{.ts,/*.ts}", { cwd: root }))
    writeTypes(
      project,
      resolve(root, source),
      resolve(root, source.replace(/^src/, "dist").replace(/ts$/, "d.ts")),
    );
} finally {
  api.close();
}

/** Replaces each inferred type of a file. Appends the new text, so that other lines keep their numbers. */
function writeTypes({ program, checker }: Project, source: string, built: string): void {
  const file = program.getSourceFile(source);
  const module = file && checker.getSymbolAtLocation(file);
  if (!module) return;
  const written: Written[] = [];
  const inferred = readFileSync(built, "utf8");
  let text = inferred;
  for (const symbol of checker.getExportsOfModule(module)) {
    const declared = new RegExp(
      `(?:^/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?^export (?:type ${symbol.name} = (?:Requests?|Params)Of<.*>;|type ${symbol.name} = \\{[^}]*\\};|interface ${symbol.name} extends [^{]*\\{[^}]*\\})\\n`,
      "m",
    ).exec(inferred)?.[0];
    if (declared === undefined) continue;
    text = text.replace(declared, () => "\n".repeat(declared.split("\n").length - 1));
    const doc = /^\/\*\*[\s\S]*?\*\/\n/.exec(declared)?.[0] ?? "";
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    written.push({ name: symbol.name, doc, fields: writeFields(type, "    ") });
  }
  writeFileSync(built, `${text}\n${written.map((type) => writeInterface(type, written)).join("")}`);

  function writeFields(type: Type, indent: string): readonly string[] {
    const isOptional = ({ flags }: Symbol) => (flags & SymbolFlags.Optional ? 1 : 0);
    const sorted = checker.getPropertiesOfType(type).toSorted((a, b) => isOptional(a) - isOptional(b));
    return sorted.map((field) => {
      const name = /^\w+$/.test(field.name) ? field.name : JSON.stringify(field.name);
      const mark = isOptional(field) ? "?" : "";
      const fieldType = checker.getTypeOfSymbol(field);
      if (!fieldType) throw new Error(`${built}: ${field.name} has no type`);
      return `${readDoc(field, indent)}${indent}readonly ${name}${mark}: ${writeType(fieldType, indent)};\n`;
    });
  }

  function readDoc(field: Symbol, indent: string): string {
    const tags = field.getJsDocTags(checker).map((tag) => `@${tag.name} ${tag.text ?? ""}`);
    const text = [field.getDocumentationComment(checker), ...tags].filter(Boolean).join("\n\n");
    if (!text.includes("\n")) return text && `${indent}/** ${text} */\n`;
    return `${indent}/**\n${text.replace(/^/gm, `${indent} * `).replace(/ +$/gm, "")}\n${indent} */\n`;
  }

  function writeType(type: Type, indent: string): string {
    const name = type.getAliasSymbol() ?? (type.isIntersectionType() ? undefined : type.getSymbol());
    if (name && isOurs(name)) return findReference(name, type);
    if (type.isUnionType()) return sortUnion(type.getTypes().map((part) => writeType(part, indent)));
    if (checker.isTupleType(type) && type.isTypeReference())
      return `readonly [${checker
        .getTypeArguments(type)
        .map((part) => writeType(part, indent))
        .join(", ")}]`;
    if (checker.isArrayType(type) && type.isTypeReference())
      return toList(
        checker
          .getTypeArguments(type)
          .map((part) => writeType(part, indent))
          .join(""),
      );
    const isWritten = type.isObjectType() && type.getSymbol()?.name === "__type";
    if (isWritten && checker.getPropertiesOfType(type).length > 0)
      return `{\n${writeFields(type, `${indent}    `).join("")}${indent}}`;
    return checker.typeToString(type, undefined, NO_TRUNCATION);
  }

  /** Finds a reference to a name of this package without an import. */
  function findReference(name: Symbol, type: Type): string {
    const path = name.declarations[0]?.path ?? "";
    const text = checker.typeToString(type, undefined, NO_TRUNCATION);
    const alias = inferred.split("\n").find((line) => line.endsWith(` = ${text};`));
    if (path === source) return alias ? (/^export type (\w+)/.exec(alias)?.[1] ?? text) : text;
    const from = relative(dirname(source), path).replace(/\.ts$/, ".js");
    return `import("${from.startsWith(".") ? from : `./${from}`}").${text}`;
  }
}

/** Writes an interface. If it contains all fields of another interface, it extends that interface. */
function writeInterface({ name, doc, fields }: Written, all: readonly Written[]): string {
  const parts = all.filter((other) => other.fields.length < fields.length && isPart(other.fields, fields));
  const [base] = parts.toSorted((a, b) => b.fields.length - a.fields.length);
  const own = fields.filter((field) => !base?.fields.includes(field));
  return `${doc}export interface ${name}${base ? ` extends ${base.name}` : ""} {\n${own.join("")}}\n`;
}

function isPart(part: readonly string[], whole: readonly string[]): boolean {
  return part.length > 1 && part.every((field) => whole.includes(field));
}

function toList(item: string): string {
  return item.includes(" | ") && !item.startsWith("{") ? `readonly (${item})[]` : `readonly ${item}[]`;
}

/** Sorts the parts of a union for readers: merges `boolean`, and puts null and undefined last. */
function sortUnion(parts: readonly string[]): string {
  const isAbsent = (part: string) => part === "null" || part === "undefined";
  const absent = parts.filter(isAbsent).sort();
  const present = parts.filter((part) => !isAbsent(part));
  const isBoolean = present.includes("true") && present.includes("false");
  const values = isBoolean ? present.filter((part) => part !== "true" && part !== "false") : present;
  return [...(isBoolean ? ["boolean"] : []), ...values, ...absent].join(" | ");
}

/** Returns true for a named type that a module of this package exports. */
function isOurs({ name, declarations }: Symbol): boolean {
  const isHelper = ["RequestOf", "RequestsOf", "ReadonlyFields", "DeepReadonly", "With"].includes(name);
  return (
    !isHelper && !name.startsWith("__") && declarations.some(({ path }) => path.startsWith(`${root}/src/`))
  );
}
