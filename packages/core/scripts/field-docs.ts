import { fileURLToPath } from "node:url";
import { API, type Type } from "typescript/unstable/sync";

/*
 * Reads the docs of the fields of requests where an editor finds them: at the types that the schemas export.
 */

interface Field {
  readonly type: string;
  readonly literal?: unknown;
  readonly options?: readonly unknown[];
}

/** The docs of one field. */
export interface FieldDocs {
  /** The doc without its tags, in one line; several sentences in a row where forms of a request differ. */
  readonly text: string;
  /** The value of `@default`, if all forms have the same. */
  readonly value: unknown;
  /** The types of the field. They hold the docs of its inner fields. */
  readonly types: readonly Type[];
}

/** Starts the compiler, and returns a reader of docs. */
export function readDocs() {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const config = `${root}tsconfig.json`;
  const api = new API({ cwd: root });
  const project = api.updateSnapshot({ openProject: config }).getProject(config);
  if (!project) throw new Error(`${config} cannot be read`);
  const { checker, program } = project;
  return { listTypes, field, [Symbol.dispose]: () => api.close() };

  /** Finds the types that a file of the sources exports under a name. */
  function listTypes(path: string, name: string): readonly Type[] {
    const file = program.getSourceFile(`${root}src/${path}`);
    const module = file && checker.getSymbolAtLocation(file);
    const symbol = module && checker.getExportsOfModule(module).find((one) => one.name === name);
    if (!symbol) throw new Error(`${path} exports no ${name}`);
    return listParts(checker.getDeclaredTypeOfSymbol(symbol));
  }

  /** Reads the docs of a field of those `types` whose constants are among those of `entries`. */
  function field(
    types: readonly Type[],
    name: string,
    entries: Readonly<Record<string, Field>> = {},
  ): FieldDocs {
    const constants = Object.entries(entries).filter(([, { type }]) =>
      ["literal", "picklist"].includes(type),
    );
    const fitting = types.filter((type) =>
      constants.every(([key, { literal, options = [literal] }]) =>
        options.some((option) => listConstants(type, key).includes(option)),
      ),
    );
    const symbols = fitting.flatMap((type) => checker.getPropertyOfType(type, name) ?? []);
    const texts = symbols.map((symbol) =>
      symbol.getDocumentationComment(checker).replace(/\s+/g, " ").trim(),
    );
    const values = symbols.map((symbol) => {
      const tag = symbol.getJsDocTags(checker).find((one) => one.name === "default");
      return tag?.text?.trim();
    });
    const [value] = new Set(values).size === 1 ? values : [];
    return {
      text: joined(texts),
      value: value === undefined ? undefined : JSON.parse(value),
      types: symbols.flatMap((symbol) => listParts(checker.getTypeOfSymbol(symbol))),
    };
  }

  function listConstants(type: Type, key: string): unknown[] {
    const symbol = checker.getPropertyOfType(type, key);
    const parts = symbol ? listParts(checker.getTypeOfSymbol(symbol)) : [];
    return parts.flatMap((part) => (part.isLiteralType() ? part.value : []));
  }

  /** The parts of a union, and the items of lists. */
  function listParts(type: Type | undefined): Type[] {
    if (!type) return [];
    if (type.isUnionType()) return type.getTypes().flatMap(listParts);
    if (type.isTypeReference() && (checker.isArrayType(type) || checker.isTupleType(type)))
      return checker.getTypeArguments(type).flatMap(listParts);
    return [type];
  }
}

/** Joins texts, each sentence once. */
function joined(texts: readonly string[]): string {
  return [...new Set(texts.flatMap((text) => text.split(/(?<=\.) (?=[A-Z`"])/)))].join(" ");
}
