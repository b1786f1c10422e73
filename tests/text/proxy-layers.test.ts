import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const packages = join(import.meta.dirname, "../../packages");

/** The folders of `durable`, each with those of the others that it may import. */
const features: Readonly<Record<string, readonly string[]>> = {
  objects: [],
  hosts: ["objects", "files"],
  budget: ["objects"],
  "kept-answers": ["objects", "hosts"],
  once: ["objects", "hosts"],
  conversations: ["objects", "hosts", "notices"],
  files: ["objects", "hosts", "archive"],
  archive: ["objects", "files"],
  "video-watch": ["objects", "hosts", "notices"],
  notices: ["objects", "video-watch", "files"],
  operator: ["objects"],
  testing: ["hosts", "files"],
};

/** The gates of the proxy, in the order in which a request passes them: each may import those before it. */
const gates = [
  "path",
  "origin",
  "user",
  "operator",
  "rate",
  "streams",
  "body",
  "spec-model",
  "spec-models",
  "field-table",
  "fields",
  "model",
  "chat-fields",
  "json-schema",
  "ids",
  "addresses",
  "admit",
  "budget",
];

/** The rooms of the proxy, from the top down: each may import those below it. */
const rooms = [
  "index",
  "internal",
  "proxy",
  "open-gates",
  "inside",
  "health",
  "option-advice",
  "settings",
  "way",
  "auth",
  "metrics",
  "gateway",
  "gates",
  "analytics-engine",
  "node",
  "read-option",
  "refusals",
  "options",
  "report",
  "job-event",
  "admitted",
  "spec-model-ids",
  "route-lists",
  "routes",
  "variables",
  "hash",
  "base",
];

/** The files of a package. */
function filesOf(name: string): string[] {
  return globSync("**/*.ts", { cwd: join(packages, name, "src") }).sort();
}

/** The modules that a file imports, types and `import()` included. */
function importsOf(name: string, file: string): string[] {
  const text = readFileSync(join(packages, name, "src", file), "utf8");
  return [...text.matchAll(/(?:^(?!\s*\*).*(?:\bfrom |\bimport\()|^import )"([^"]+)"/gm)].map(
    ([, path = ""]) => (path.startsWith(".") ? join(file, "..", path.replace(/\.js$/, ".ts")) : path),
  );
}

const ownImportsOf = (name: string, file: string) =>
  importsOf(name, file).filter((path) => path.endsWith(".ts"));

describe.each(["worker-proxy", "durable"])("the package %s", (name) => {
  const files = filesOf(name);
  const own = new Map(files.map((file) => [file, ownImportsOf(name, file)]));

  test("imports lead to files of its own", () => {
    const named = [...own.values()].flat();
    expect(named.length).toBeGreaterThan(files.length);
    expect(files).toEqual(expect.arrayContaining(named));
  });

  test("no file imports itself over other files, types and `import()` included", () => {
    expect(circles(own)).toEqual([]);
  });
});

test("the proxy stores nothing: it imports no part, and no package at run time but the peer of its sign-in", () => {
  const foreign = filesOf("worker-proxy").flatMap((file) =>
    importsOf("worker-proxy", file)
      .filter((path) => !path.endsWith(".ts"))
      .map((path) => `${file}: ${path}`),
  );
  // bundled: the reader of events and of their errors that the client has too
  const allowed = /: @sluice\/core\/(?:sse|internal)$|^auth\/.*: jose$|^node\.ts: node:/;
  expect(foreign.filter((line) => !allowed.test(line))).toEqual([]);
});

test("a room of the proxy imports itself and the rooms below it", () => {
  const roomOf = (file: string) => file.replace(/[/.].*$/, "");
  const files = filesOf("worker-proxy");
  expect([...new Set(files.map(roomOf))].sort()).toEqual([...rooms].sort());
  const upward = files.flatMap((file) =>
    ownImportsOf("worker-proxy", file)
      .filter((path) => rooms.indexOf(roomOf(path)) < rooms.indexOf(roomOf(file)))
      .map((path) => `${file}: ${path}`),
  );
  expect(upward).toEqual([]);
});

test("a gate imports those that a request passes before it, and never the settings", () => {
  const files = filesOf("worker-proxy").filter((file) => file.startsWith("gates/"));
  const nameOf = (file: string) => file.replace(/^gates\/|\.ts$/g, "");
  expect(files.map(nameOf).sort()).toEqual([...gates].sort());
  const wrong = files.flatMap((file) =>
    ownImportsOf("worker-proxy", file)
      .filter((path) => /^(?:gates\/|settings|proxy)/.test(path))
      .filter((path) => {
        const place = gates.indexOf(nameOf(path));
        return place < 0 || place >= gates.indexOf(nameOf(file));
      })
      .map((path) => `${file}: ${path}`),
  );
  expect(wrong).toEqual([]);
});

test("Functions behind the gates get what they use, and never the settings", () => {
  const rooms = filesOf("worker-proxy").filter((file) => /^(?:gateway|refusals|auth)\//.test(file));
  const bags = rooms.flatMap((file) =>
    ownImportsOf("worker-proxy", file)
      .filter((path) => /^(?:settings|proxy)\.ts$/.test(path))
      .map((path) => `${file}: ${path}`),
  );
  expect(bags).toEqual([]);
});

test("a feature of `durable` imports the objects, and of other features those that its row names", () => {
  const folderOf = (file: string) => file.split("/", 1)[0] ?? "";
  const wrong = filesOf("durable")
    .filter((file) => file !== "index.ts")
    .flatMap((file) =>
      ownImportsOf("durable", file)
        .filter((path) => ![folderOf(file), ...(features[folderOf(file)] ?? [])].includes(folderOf(path)))
        .map((path) => `${file}: ${path}`),
    );
  expect(wrong).toEqual([]);
});

test("`durable` reaches for what one platform has in `hosts` alone", () => {
  const elsewhere = filesOf("durable").filter((file) => !file.startsWith("hosts/"));
  const own = /globalThis|"cloudflare:|"node:|FixedLengthStream|IdentityTransformStream/;
  const code = (file: string) =>
    readFileSync(join(packages, "durable/src", file), "utf8").replace(/\/\*.*?\*\/|\/\/[^\n]*/gs, "");
  expect(elsewhere.filter((file) => own.test(code(file)))).toEqual([]);
});

test("`durable` reaches the proxy by its public entries and `/internal`", () => {
  const isPackage = (path: string) => !path.endsWith(".ts") && !path.startsWith("node:");
  const packagesOf = (file: string) => importsOf("durable", file).filter(isPackage);
  expect([...new Set(filesOf("durable").flatMap(packagesOf))].sort()).toEqual([
    "@block65/webcrypto-web-push",
    "@sluice/core",
    "@sluice/core/internal",
    "@sluice/core/prices",
    "@sluice/core/remote",
    "@sluice/core/schemas",
    "@sluice/core/sse",
    "@sluice/worker-proxy",
    "@sluice/worker-proxy/internal",
    "aws4fetch",
    // the client of a database, which its host alone needs
    "postgres",
  ]);
});

/** The ways from files back to themselves, one for each file that has one. */
function circles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  return [...imports.keys()].flatMap((start) => {
    const seen = new Set<string>();
    const open: string[][] = [[start]];
    for (let way = open.pop(); way; way = open.pop())
      for (const next of imports.get(way.at(-1) ?? "") ?? []) {
        if (next === start) return [[...way, start].join(" → ")];
        if (seen.has(next)) continue;
        seen.add(next);
        open.push([...way, next]);
      }
    return [];
  });
}
