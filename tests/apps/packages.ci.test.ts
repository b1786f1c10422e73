import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { entries } from "../support/entries.ts";
import { createTemporaryFolder } from "../support/temporary.ts";

/* The packages as they are built: what their users' tools and runtimes make of them. */

const root = fileURLToPath(new URL("../../", import.meta.url));
const names = readdirSync(`${root}packages`).filter((name) =>
  existsSync(`${root}packages/${name}/package.json`),
);

interface Manifest {
  readonly engines?: { readonly node?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly keywords?: readonly string[];
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(`${root}${folder}/package.json`, "utf8"));
}

/** The first major version that a range like `>=22` or `^20.19.0 || >=22` allows. */
function leastMajor(range: string | undefined): number {
  return Math.min(
    ...[...(range ?? "0").matchAll(/(?:^|\|\|)\s*\D*(\d+)/g)].map(([, major]) => Number(major)),
  );
}

describe("each package", () => {
  test.each(names)("%s names its Node version and its purpose", (name) => {
    const folder = `packages/${name}`;
    const { engines, dependencies = {}, keywords = [] } = readManifest(folder);
    const needed = Object.keys(dependencies).map((dependency) =>
      leastMajor(readManifest(`${folder}/node_modules/${dependency}`).engines?.node),
    );
    expect(leastMajor(engines?.node)).toBeGreaterThanOrEqual(Math.max(22, ...needed));
    expect(keywords.length).toBeGreaterThan(3);
    expect(readFileSync(`${root}${folder}/README.md`, "utf8")).toMatch(/Node 22(?:\.\d+)? or newer/);
  });

  test("the README names the same Node version", () => {
    expect(readFileSync(`${root}README.md`, "utf8")).toContain("Node 22 or newer");
  });
});

describe("the React package in a Server Component", () => {
  const dist = `${root}packages/react/dist`;
  const exports = JSON.parse(readFileSync(`${root}packages/react/package.json`, "utf8")).exports;
  const files = (folder: string) => globSync("**/*.js", { cwd: `${dist}/${folder}` });

  test("It has the same names as in a page", async () => {
    const { default: inPage, "react-server": onServer } = exports["."];
    const listNames = async (path: string) =>
      Object.keys(await import(/* @vite-ignore */ `${root}packages/react/${path}`)).toSorted();
    expect(await listNames(onServer)).toEqual(await listNames(inPage));
  });

  test("Its hooks use the page's React, and all other functions can be called", () => {
    const code = (file: string) => readFileSync(`${dist}/server/${file}`, "utf8");
    const clients = files("server").filter((file) => code(file).startsWith('"use client";\n'));
    expect(clients.toSorted()).toEqual(["hooks.js"]);
    const reached = [...code("index.js").matchAll(/from "(.*?)"/g)].map(([, from]) => from);
    expect(reached.toSorted()).toEqual(["./hooks.js", "@sluice/stores"]);
  });

  test("No file that a page loads has a directive: Rollup, Rolldown and Vite warn of each", () => {
    const inPages = files(".").filter((file) => !file.startsWith("server/"));
    expect(inPages.length).toBeGreaterThan(20);
    for (const file of inPages)
      expect.soft(readFileSync(`${dist}/${file}`, "utf8"), file).not.toMatch(/^"use \w+"/);
  });
});

test("Built files name Node's modules as the sources do: node:sqlite has no other name", () => {
  const folders = ["worker-proxy", "durable"].map((name) => `${root}packages/${name}/dist`);
  const files = folders.flatMap((dist) => globSync(`${dist}/**/*.js`));
  const imported = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^import .*?"([^"]+)";$/gm)].map(([, name = ""]) => name),
  );
  expect(imported).toContain("node:sqlite");
  const short = imported.filter((name) => isBuiltin(name) || isBuiltin(`node:${name}`));
  expect(short.filter((name) => !name.startsWith("node:"))).toEqual([]);
});

test("no file of the proxy imports another for nothing: wrangler would warn of each before a deploy", () => {
  const dist = `${root}packages/worker-proxy/dist`;
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".js"),
  );
  expect(files.length).toBeGreaterThan(5);
  for (const file of files)
    expect.soft(readFileSync(`${dist}/${file}`, "utf8"), file).not.toMatch(/^import "/m);
});

test("the built packages work on Node 22: client, proxy and emulator over sockets, and hooks on a server", {}, () => {
  const node22 = `${root}tests/node_modules/node-22/bin/node`;
  expect(existsSync(node22)).toBe(true);
  const printed = execFileSync(node22, [`${root}tests/support/smoke.ts`], { encoding: "utf8" });
  expect(JSON.parse(printed)).toEqual({
    node: "22",
    chat: { outcome: "complete", isWhole: true },
    tools: { outcome: "complete", text: expect.stringContaining("7 metres") },
    images: "200 image/png",
    video: "succeeded",
    truncated: "StreamError",
    refused: "APIError",
    rendered: "<p>ready</p>",
  });
});

/** An app that uses types of the AI SDK. */
const chat = `import { createSluice } from "@sluice/ai-sdk";
import { createChatTransport } from "@sluice/ai-sdk/transport";
import { createClient } from "@sluice/core";
import { streamText, type UIMessage } from "ai";

type Message = UIMessage<{ tokens: number }>;
const client = createClient({ baseURL: "/api" });
export const transport = createChatTransport<Message>(client, { model: "delta-5.3", storage: sessionStorage });
const { textStream } = streamText({ model: createSluice(client)("delta-5.3"), prompt: "Hello" });
for await (const text of textStream) console.log(text.length);
`;

// the AI SDK's types alone take a busy machine minutes
describe("the types compile with every check on", { timeout: 600_000 }, () => {
  const folder = createTemporaryFolder("types");
  const all = Object.keys(entries);
  const inPages = all.filter((entry) => entry.startsWith("@sluice/react"));
  /** Entries with types of Node in their declarations. */
  const onNode = all.filter((entry) => /(?:proxy\/node|postgres|serve|recordings)$/.test(entry));
  /** Entries with types of other packages, which use types of Node and of browsers. */
  const bridges = all.filter((entry) => /(?:ai-sdk|mcp)(?:\/|$)/.test(entry));
  const everywhere = all.filter((entry) => ![...inPages, ...onNode, ...bridges].includes(entry));
  const project = (lib: readonly string[], types: readonly string[], files: readonly string[]) => ({
    compilerOptions: {
      target: "es2022",
      lib: ["es2023", ...lib],
      module: "nodenext",
      moduleResolution: "nodenext",
      jsx: "react-jsx",
      strict: true,
      skipLibCheck: false,
      noEmit: true,
      types,
    },
    files,
  });

  beforeAll(() => {
    for (const [file, names] of Object.entries({ everywhere, onNode, bridges, page: inPages })) {
      const imports = names.map((entry, at) => `export * as name${at} from "${entry}";\n`);
      writeFileSync(`${folder}/${file}.ts`, imports.join(""));
    }
    const dom = ["dom", "dom.iterable"];
    const page = project(dom, [], ["everywhere.ts", "page.ts"]);
    writeFileSync(`${folder}/page.json`, JSON.stringify(page));
    writeFileSync(`${folder}/bridges.json`, JSON.stringify(project(dom, ["node"], ["bridges.ts"])));
    writeFileSync(`${folder}/chat.ts`, chat);
    const asApps = project(dom, ["node"], ["chat.ts"]);
    const compilerOptions = { ...asApps.compilerOptions, skipLibCheck: true };
    writeFileSync(`${folder}/chat.json`, JSON.stringify({ ...asApps, compilerOptions }));
    writeFileSync(
      `${folder}/server.json`,
      JSON.stringify(project([], ["node"], ["everywhere.ts", "onNode.ts"])),
    );
  });
  const newest = "node_modules/typescript/bin/tsc";
  const oldest = "tests/node_modules/typescript-5.4/bin/tsc";

  test("the types compile with the newest TypeScript, on a server without DOM types", () => {
    expect(listComplaints(newest, "server.json")).toBe("");
  });

  test.each([
    ["the newest TypeScript, in a page", newest, "page.json"],
    ["the oldest that is promised, in a page", oldest, "page.json"],
    ["the oldest that is promised, on a server", oldest, "server.json"],
  ])("the types compile with %s", (_, tsc, config) => {
    expect(listComplaints(tsc, config)).toBe("");
  });

  test("the types of the bridges compile with the newest TypeScript", () => {
    expect(listComplaints(newest, "bridges.json")).toBe("");
  });

  test("the types of the bridges compile with the oldest promised TypeScript that compiles the AI SDK's types", () => {
    const complaints = listComplaints(oldest, "bridges.json").split("\n").filter(Boolean);
    const ofAISDK =
      /^\S+\/node_modules\/(?:ai|@ai-sdk\/[\w-]+)\/dist\/index\.d\.ts\(.*error TS2315: Type 'Uint8Array'/;
    expect(complaints.filter((line) => !ofAISDK.test(line))).toEqual([]);
  });

  test("an app on the AI SDK that does not check its libraries compiles with the oldest that is promised", () => {
    expect(listComplaints(oldest, "chat.json")).toBe("");
  });

  /** Output of TypeScript; empty without errors. */
  function listComplaints(tsc: string, config: string): string {
    const args = [root + tsc, "-p", `${folder}/${config}`];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    return stdout + stderr;
  }
});
