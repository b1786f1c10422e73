import { spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseSync } from "vite";

/*
 * Changes one place of the source at a time, and runs the tests: a change that no test notices has survived. Prints the
 * survivors and the share that was killed. The changed file is written back after each run; commit before.
 *
 *   pnpm mutate packages/core/src/transport --sample 100 --seed 1
 */

interface Suite {
  readonly project: string;
  /** Files that are likely to notice, by a part of their names. They run first; the whole project has the last word. */
  readonly likely: readonly string[];
}

const core = "core in node";
const chat = ["/chat", "/stream", "/history", "/partial-json", "/schema", "/callbacks", "/unknown-fields"];
const suites: Readonly<Record<string, Suite>> = {
  "packages/core/src/chat": { project: core, likely: chat },
  "packages/core/src/transport": {
    project: core,
    likely: [
      "/client",
      "/errors",
      "/stream",
      "/sse",
      "/refus",
      "/secrets",
      "/billing",
      "/unknown",
      "/events",
    ],
  },
  "packages/core/src/polling": { project: core, likely: ["/polling", "/video-", "/asset", "/tasks"] },
  "packages/worker-proxy/src": { project: "worker-proxy*", likely: [".workerd.test.ts"] },
};
/** Until a run counts as killed by a loop without an end. */
const MOST_MS = 240_000;

interface Mutant {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
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

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: "string", default: "100" }, seed: { type: "string", default: "1" } },
});
const [folder = ""] = positionals;
const suite = Object.entries(suites).find(([path]) => folder.startsWith(path))?.[1];
if (!suite) throw new Error(`No tests are known for "${folder}": add it to \`suites\` in scripts/mutate.ts.`);

const all = filesOf(folder).flatMap(mutantsOf);
const chosen = shuffled(all, Number(values.seed)).slice(0, Number(values.sample));
console.log(`${all.length} places to change in ${folder}, ${chosen.length} of them tried`);
if (await fails([])) throw new Error("The tests fail without a change: nothing can be said of one.");
const survivors: Mutant[] = [];
for (const [index, mutant] of chosen.entries()) {
  const isKilled = await withMutant(mutant, async () => (await fails(suite.likely)) || (await fails([])));
  if (!isKilled) survivors.push(mutant);
  console.log(`${index + 1} ${isKilled ? "killed  " : "SURVIVED"} ${shown(mutant)}`);
}
const killed = chosen.length - survivors.length;
console.log(
  `\n${killed} of ${chosen.length} killed (${((100 * killed) / chosen.length).toFixed(1)} %). Survivors:`,
);
for (const mutant of survivors) console.log(`  ${shown(mutant)}`);

function filesOf(path: string): string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(path, name));
}

function mutantsOf(file: string): Mutant[] {
  const source = readFileSync(file, "utf8");
  const found: Mutant[] = [];
  visit(parseSync(file, source).program as unknown as Node, (node, text) => {
    found.push({ file, start: node.start, end: node.end, text });
  });
  return found;

  function visit(node: Node, add: (node: Node, text: string) => void): void {
    if (isOnlyTypes(node)) return;
    for (const [part, text] of changesOf(node, source)) add(part, text);
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, add);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

function isOnlyTypes({ type }: Node): boolean {
  return /^TS(?!As|NonNull|Satisfies)|^Import|^ExportAll/.test(type);
}

/** The changes to one node: the part that is replaced, and by what. */
function changesOf(node: Node, source: string): (readonly [Node, string])[] {
  const textOf = (part: unknown) => source.slice((part as Node).start, (part as Node).end);
  const { left, right, operator, test, argument, value, raw, expression } = node;
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      if (operator === "??") return [[node, textOf(left)]];
      const other = operators[String(operator)];
      return other ? [[node, `(${textOf(left)} ${other} ${textOf(right)})`]] : [];
    }
    case "IfStatement":
    case "ConditionalExpression":
      return ["true", "false"].map((constant) => [test as Node, constant] as const);
    case "UnaryExpression":
      return operator === "!" ? [[node, `(${textOf(argument)})`]] : [];
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

/** In an order that the seed decides. */
function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  let state = seed;
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
  return items
    .map((item) => [random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

async function withMutant<Result>(mutant: Mutant, run: () => Promise<Result>): Promise<Result> {
  const source = readFileSync(mutant.file, "utf8");
  const restore = () => writeFileSync(mutant.file, source);
  const stop = () => process.exit(1);
  process.on("exit", restore);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
  writeFileSync(mutant.file, source.slice(0, mutant.start) + mutant.text + source.slice(mutant.end));
  try {
    return await run();
  } finally {
    restore();
    process.off("exit", restore);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  }
}

/** Runs tests, without isolation, until the first one fails; true where one does, or where they do not end. */
function fails(files: readonly string[]): Promise<boolean> {
  const args = [
    "run",
    "--project",
    suite?.project ?? "",
    "--bail",
    "1",
    "--tags-filter",
    "!long",
    "--reporter",
    "dot",
  ];
  const child = spawn("vitest", [...args, ...files], {
    stdio: "ignore",
    detached: true,
  });
  const timer = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), MOST_MS);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => {
      clearTimeout(timer);
      resolve(status !== 0);
    });
  });
}

function shown({ file, start, end, text }: Mutant): string {
  const source = readFileSync(file, "utf8");
  const line = source.slice(0, start).split("\n").length;
  return `${file}:${line}  ${source.slice(start, end).replace(/\s+/g, " ")}  →  ${text.replace(/\s+/g, " ")}`;
}
