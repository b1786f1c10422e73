import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { createClient } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { cleanup, render } from "@testing-library/react";
import type { FunctionComponent } from "react";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readAllExamples, writeExamples } from "../support/example-modules.ts";
import { createTemporaryFolder } from "../support/temporary.ts";

/*
 * The code blocks of all pages, READMEs and doc comments. Each is a separate module. "```ts run" is run as a script,
 * "```tsx run" is rendered; gateway.example.com is the emulator.
 */

const root = `${import.meta.dirname}/../../`;
const folder = createTemporaryFolder("blocks");
const modules = writeExamples(readAllExamples(), folder);
const runnable = [...modules].filter(([, { isRun }]) => isRun);
const rows = (language: string) =>
  runnable.flatMap(([path, example]) => (example.language === language ? [{ ...example, path }] : []));

test("every code block compiles, with its own imports or the imports of earlier blocks", {
  timeout: 120_000,
}, () => {
  expect(modules.size).toBeGreaterThan(80);
  expect(typeErrors("tsconfig.json")).toBe("");
});

test("the first code block of a page declares or imports all that it uses", {
  timeout: 120_000,
}, () => {
  expect(typeErrors("tsconfig.first.json")).toBe("");
});

test("a heading of the troubleshooting page that is an error text is one of the sources", () => {
  const sources = globSync("packages/*/src/**/*.{ts,tsx}", { cwd: root })
    .map((path) => readFileSync(root + path, "utf8").replace(/[`\\]/g, ""))
    .join("\n");
  const page = readFileSync(`${root}docs/troubleshooting.md`, "utf8").replaceAll("`", "");
  const texts = [...page.matchAll(/^### ([^A-Z\n].*)$/gm)].map(([, text = ""]) => text);
  expect(texts.length).toBeGreaterThan(20);
  const pieces = texts.flatMap((text) => text.split(/…|: /)).filter((piece) => piece.length > 3);
  expect(pieces.filter((piece) => !sources.includes(piece))).toEqual([]);
});

test("no example shows its users the message of an error, or takes a user from a header", () => {
  const isShown = (line: string) =>
    /rror\)?\??\.message/.test(line) && !/console\.|Error\(|textContent\)\.toContain/.test(line);
  const pages = globSync(
    [
      "README.md",
      "packages/*/*.md",
      "labs/*/README.md",
      "examples/*/*.{md,ts,tsx,vue,svelte}",
      "docs/examples/**/*.{ts,tsx,vue,svelte}",
      "docs/**/*.md",
    ],
    {
      cwd: root,
      exclude: ["**/node_modules/**", "docs/{dist,reference,public,spec}/**", "examples/studio/**"],
    },
  );
  const lines = (path: string) => readFileSync(root + path, "utf8").split("\n");
  // only code, since pages explain the field
  const code = pages.flatMap((path) =>
    path.endsWith(".md") ? readCode(lines(path)).map((line) => `${path}: ${line}`) : lines(path),
  );
  const comments = globSync("packages/*/src/**/*.{ts,tsx}", { cwd: root })
    .flatMap(lines)
    .filter((line) => line.startsWith(" *"));
  expect(code.length).toBeGreaterThan(3000);
  expect([...code, ...comments].filter(isShown)).toEqual([]);
  // a header is what the caller says: everybody could be anybody
  expect([...code, ...comments].filter((line) => line.includes("x-user"))).toEqual([]);
});

test("each row of a table on a page belongs to a table with a head", () => {
  const paths = globSync(["*.md", "packages/*/*.md", "labs/*/*.md", "examples/**/*.md", "docs/**/*.md"], {
    cwd: root,
    exclude: ["**/node_modules/**", "docs/{dist,reference,public}/**"],
  });
  const readPage = (path: string) => readFileSync(root + path, "utf8").replace(/^ *```[\s\S]*?^ *```/gm, "");
  const countCells = (row: string) => row.split(/(?<!\\)\|/).length;
  const isTable = ([head = "", line = "", ...rows]: readonly string[]) =>
    /^\|[-:| ]+\|$/.test(line) && [line, ...rows].every((row) => countCells(row) === countCells(head));
  const tables = paths.flatMap((path) =>
    [...readPage(path).matchAll(/(?:^ *\|.*\n?)+/gm)].map(([text]) => ({
      path,
      lines: text.trim().split(/\n */),
    })),
  );
  expect(tables.length).toBeGreaterThan(50);
  expect(
    tables.filter(({ lines }) => !isTable(lines)).map(({ path, lines }) => `${path}: ${lines[0]}`),
  ).toEqual([]);
});

test("no page begins with “At the end”, which reads as “finally”", () => {
  const pages = globSync("docs/{start,guides,recipes}/*.md", { cwd: root });
  expect(pages.length).toBeGreaterThan(30);
  const openings = pages.map((path) => /^# .*\n+(.*)$/m.exec(readFileSync(root + path, "utf8"))?.[1] ?? path);
  expect(openings.filter((opening) => opening.startsWith("At the end"))).toEqual([]);
});

/** The lines of a page that are inside of code blocks. */
function readCode(lines: readonly string[]): string[] {
  let isCode = false;
  return lines.filter((line) => {
    if (!/^ *```/.test(line)) return isCode;
    isCode = !isCode;
    return false;
  });
}

describe("a block that is marked to run", () => {
  const errors: unknown[] = [];
  beforeEach(() => {
    errors.length = 0;
    const emulator = createEmulator({ apiKeys: ["sk-docs"], speed: Number.POSITIVE_INFINITY });
    vi.stubEnv("GATEWAY_API_KEY", "sk-docs");
    // this file's environment is a page, for the components; a script's is not
    vi.stubGlobal("navigator", { userAgent: "Node.js/24" });
    vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) => {
      const request = new Request(input, init);
      const { host } = new URL(request.url);
      if (host === "gateway.example.com") return emulator.fetch(request);
      throw new TypeError(`No server is at ${host}. Examples use gateway.example.com.`);
    });
    vi.stubGlobal("emulator", emulator);
    vi.stubGlobal(
      "client",
      createClient({ baseURL: "https://gateway.example.com", apiKey: "sk-docs", fetch: emulator.fetch }),
    );
    vi.spyOn(console, "error").mockImplementation((...shown) => void errors.push(shown));
  });
  afterEach(() => {
    cleanup();
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
  });

  test.for(rows("ts"))("$location runs", async ({ path, output }) => {
    const printed = recordOutput();
    const module = await import(/* @vite-ignore */ path);
    await module.example?.();
    if (output !== undefined) expect(printed()).toMatch(createPattern(output));
    expect(errors).toEqual([]);
  });

  test.for(rows("tsx"))("$location renders", async ({ path }) => {
    const { App } = (await import(/* @vite-ignore */ path)) as { App: FunctionComponent };
    expect(render(<App />).container.childElementCount).toBeGreaterThan(0);
    expect(errors).toEqual([]);
  });
});

afterAll(() => vi.unstubAllGlobals());

/** Type errors of a project in the folder of the examples, with the locations of the examples. */
function typeErrors(project: string): string {
  const { stdout } = spawnSync(`${root}node_modules/.bin/tsc`, ["-p", project, "--checkers", "1"], {
    encoding: "utf8",
    cwd: folder,
  });
  return stdout.replace(/^([^(\n]+)(?=\()/gm, (path) => modules.get(`${folder}/${path}`)?.location ?? path);
}

/** Records what a script prints. */
function recordOutput(): () => string {
  let printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += text;
    return true;
  });
  vi.spyOn(console, "log").mockImplementation((...shown) => {
    printed += `${shown.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(" ")}\n`;
  });
  return () => printed.trim();
}

/** Creates a pattern for the expected output. `…` matches any text. */
function createPattern(output: string): RegExp {
  return new RegExp(`^${output.trim().split("…").map(literal).join(".*")}$`, "s");
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
