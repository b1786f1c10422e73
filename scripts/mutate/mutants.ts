import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "vite";

/** A change to one place of a file. */
export interface Mutant {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /**
   * True for code that runs while its module loads. Test files share loaded modules, so only the first file that needs
   * the module reaches this code. Tests of other files may depend on it, too.
   */
  readonly runsAtLoad: boolean;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const operators: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "&&": "||",
  "||": "&&",
};

/** Finds every change to the files of a folder. */
export function findMutants(path: string): Mutant[] {
  if (statSync(path).isFile()) return listMutants(path);
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => listMutants(join(path, name)));
}

/** Returns the file's source with the change. */
export function applyMutant({ file, start, end, text }: Mutant): string {
  const source = readFileSync(file, "utf8");
  return source.slice(0, start) + text + source.slice(end);
}

/** Returns a file's source with a call at the location of each mutant, which prints the mutant's number. */
export function insertCalls(
  file: string,
  mutants: readonly (readonly [number: number, mutant: Mutant])[],
  writeCall: (number: number) => string,
): string {
  const source = readFileSync(file, "utf8");
  const inserts = mutants
    .flatMap(([number, { start, end }]) => [
      { at: start, order: 1, text: `(${writeCall(number)},(` },
      { at: source[end - 1] === ";" ? end - 1 : end, order: 0, text: "))" },
    ])
    .sort((a, b) => a.at - b.at || a.order - b.order);
  let at = 0;
  const parts = inserts.map((insert) => {
    const part = source.slice(at, insert.at) + insert.text;
    at = insert.at;
    return part;
  });
  return parts.join("") + source.slice(at);
}

export function formatSource({ file, start, end, text }: Mutant): string {
  const source = readFileSync(file, "utf8");
  const line = source.slice(0, start).split("\n").length;
  return `${file}:${line}  ${source.slice(start, end).replace(/\s+/g, " ")}  →  ${text.replace(/\s+/g, " ")}`;
}

function listMutants(file: string): Mutant[] {
  const source = readFileSync(file, "utf8");
  const found: Mutant[] = [];
  visit(parseSync(file, source).program as unknown as Node, true);
  return found;

  function visit(node: Node, runsAtLoad: boolean): void {
    if (isOnlyTypes(node)) return;
    for (const [{ start, end }, text] of listChanges(node, source))
      found.push({ file, start, end, text, runsAtLoad });
    const isInside = runsAtLoad && !node.type.includes("Function");
    for (const [field, value] of Object.entries(node)) {
      // a number as a field name can't be replaced by a sum
      if (field === "key" && node["computed"] === false) continue;
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, isInside);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

function isOnlyTypes({ type }: Node): boolean {
  return /^TS(?!As|NonNull|Satisfies)|^Import|^ExportAll/.test(type);
}

/** Lists the changes to one node: the range to replace, and its replacement. */
function listChanges(node: Node, source: string): (readonly [Node, string])[] {
  const getText = (part: unknown) => source.slice((part as Node).start, (part as Node).end);
  const { left, right, operator, test, argument, value, raw, expression } = node;
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      if (operator === "??") return [[node, getText(left)]];
      const replacement = operators[String(operator)];
      return replacement ? [[node, `(${getText(left)} ${replacement} ${getText(right)})`]] : [];
    }
    case "IfStatement":
    case "ConditionalExpression":
      return ["true", "false"].map((constant) => [test as Node, constant] as const);
    case "UnaryExpression":
      return operator === "!" ? [[node, `(${getText(argument)})`]] : [];
    case "ExpressionStatement":
      return /^(Call|Await|Assignment)/.test((expression as Node).type) ? [[node, ";"]] : [];
    case "Literal":
      if (typeof value === "boolean") return [[node, String(!value)]];
      if (typeof value === "number") return [[node, `(${raw} + 1)`]];
      return [];
    default:
      return [];
  }
}
