import { readFileSync } from "node:fs";
import { join } from "node:path";
import bcd, {
  type BrowserName,
  type CompatStatement,
  type Identifier,
} from "@mdn/browser-compat-data/forLegacyNode";
import { build } from "vite";
import { expect, test } from "vitest";

/*
 * The oldest browsers of docs/supported-platforms.md are computed: the packages are bundled with their dependencies, and each name of
 * the platform in the bundle has the first version that knows it, by MDN's data.
 */

const root = join(import.meta.dirname, "../..");
const bundled = ["core/dist/entries/index.js", "media/dist/index.js", "react/dist/index.js"];
/** Names that the code does without where they are missing. */
const optional = ["BroadcastChannel", "OffscreenCanvas"];
/** Methods of values with a name that only one type has. */
const methods = { findLast: "Array", replaceAll: "String", matchAll: "String", flatMap: "Array" } as const;
const browsers = {
  "Chrome, Edge": ["chrome", "edge"],
  Firefox: ["firefox", "firefox_android"],
  "Safari, also of iOS": ["safari", "safari_ios"],
} satisfies Record<string, BrowserName[]>;

async function bundle(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: "error",
    root,
    build: {
      write: false,
      minify: false,
      target: "es2022",
      lib: { entry: bundled.map((path) => join(root, "packages", path)), formats: ["es"] },
      rollupOptions: { external: ["react", "react/jsx-runtime"] },
    },
  });
  const chunks = [built].flat().flatMap((one) => ("output" in one ? one.output : []));
  const code = chunks.map((chunk) => ("code" in chunk ? chunk.code : "")).join("\n");
  return code.replace(/\/\*.*?\*\//gs, "").replace(/^\s*\/\/.*$/gm, "");
}

/** Names of the platform that code uses: `AbortSignal.any`, `new TransformStream`, `findLast`. */
function findFeatures(code: string): Map<string, CompatStatement> {
  const found = new Map<string, CompatStatement>();
  const note = (name: string, feature: Identifier | undefined) => {
    if (feature?.__compat) found.set(name, feature.__compat);
  };
  const ofLanguage = bcd.javascript["builtins"];
  for (const [, owner = "", name = ""] of code.matchAll(/(?<![.\w$])([A-Z]\w+)\.(\w+)/g))
    note(`${owner}.${name}`, ofLanguage?.[owner]?.[name] ?? bcd.api[owner]?.[`${name}_static`]);
  for (const [, name = ""] of code.matchAll(/(?<![.\w$])new ([A-Z]\w+)/g))
    if (!optional.includes(name)) note(`new ${name}`, ofLanguage?.[name]?.[name] ?? bcd.api[name]?.[name]);
  for (const [name, owner] of Object.entries(methods))
    if (code.includes(`.${name}(`)) note(name, ofLanguage?.[owner]?.[name]);
  return found;
}

function firstVersion({ support }: CompatStatement, browser: BrowserName): number {
  const [newest] = [support[browser]].flat();
  return Number.parseFloat(String(newest?.version_added).replace("≤", ""));
}

test("the oldest browsers of the support page are those that know all that the packages use", async () => {
  const features = findFeatures(await bundle());
  expect([...features.keys()]).toEqual(
    expect.arrayContaining(["new ReadableStream", "URL.canParse", "Object.hasOwn", "findLast"]),
  );
  const rows = Object.entries(browsers).map(([names, ids]) => {
    const versions = [...features].flatMap(([name, compat]) =>
      ids.map((id) => [name, firstVersion(compat, id)] as const),
    );
    const [name, version] = versions.reduce((newest, next) => (next[1] > newest[1] ? next : newest));
    return [names, version, `\`${name}\``];
  });
  const page = readFileSync(join(root, "docs/supported-platforms.md"), "utf8");
  const [, table = ""] = /^\| browser .*\n\|[ -|]+\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const written = table
    .trim()
    .split("\n")
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    );
  expect(written).toEqual(rows.map((row) => row.map(String)));
});
