import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Rollup } from "vite";
import { put, type Report, tableOf } from "../topic.ts";

export const title = "Bundle sizes";

const folder = fileURLToPath(new URL("../peers/", import.meta.url));
const parser = 'import { createParser } from "eventsource-parser"; console.log(createParser)';
const programs: Record<string, Record<string, string>> = {
  "one streamed answer": {
    Sluice: 'import { createClient, streamChat } from "@sluice/core"; console.log(createClient, streamChat)',
    openai: 'import OpenAI from "openai"; console.log(OpenAI)',
    "AI SDK":
      'import { streamText } from "ai"; import { createOpenAICompatible } from "@ai-sdk/openai-compatible"; console.log(streamText, createOpenAICompatible)',
    xsai: 'import { streamText } from "xsai"; console.log(streamText)',
    "eventsource-parser + JSON.parse": parser,
  },
  "a chat in React": {
    Sluice:
      'import { createClient } from "@sluice/core"; import { GatewayProvider, useChatStream } from "@sluice/react"; console.log(createClient, GatewayProvider, useChatStream)',
    "AI SDK": 'import { useChat } from "@ai-sdk/react"; console.log(useChat)',
    "TanStack AI":
      'import { fetchServerSentEvents, useChat } from "@tanstack/ai-react"; console.log(fetchServerSentEvents, useChat)',
  },
};

export async function measure(): Promise<Report> {
  const columns: Record<string, Record<string, string>> = {};
  for (const [name, sources] of Object.entries(programs))
    for (const [client, source] of Object.entries(sources)) {
      const byVite = await viteFilesOf(source);
      put(columns, `${name}, Vite, at once`, client, kilobytesOf(byVite, false));
      put(columns, `${name}, Vite, in all`, client, kilobytesOf(byVite, true));
      put(columns, `${name}, esbuild, at once`, client, kilobytesOf(esbuildFilesOf(source), false));
    }
  const rows = Object.keys(programs).flatMap((name) =>
    ["at once", "in all"].map((part) => ({
      measure: `${name}, minified and compressed, without React, ${part}`,
      texts: columns[`${name}, Vite, ${part}`] ?? {},
    })),
  );
  return {
    markdown: `Minified, gzip, for browsers, React left out. \`at once\` is what the import loads; \`in all\` has what it may load later, too. The summary has both for Vite; at once is what \`pnpm check:size\` limits and 0.8 kB of Vite's own for code that is loaded later. esbuild, with \`--splitting\`, loads more: it keeps code that is loaded later by functions that the program never calls, and puts all that this code shares with the program into files of their own.\n\n${tableOf("bundle", columns)}`,
    summary: rows,
  };
}

/** A file that a bundler has made. */
interface File {
  readonly code: string | Uint8Array;
  readonly isEntry: boolean;
  /** Names of the files that it loads at once, and of those that it may load later. */
  readonly imports: readonly string[];
  readonly later: readonly string[];
}

/** Kilobytes of a program, with the files that it may load later or without them. */
function kilobytesOf(files: ReadonlyMap<string, File>, whole: boolean): string {
  const loaded = new Set<File>();
  for (const file of files.values()) if (file.isEntry) follow(file);
  const bytes = [...loaded].map(({ code }) => gzipSync(code, { level: 9 }).length);
  return `${(bytes.reduce((sum, length) => sum + length, 0) / 1000).toFixed(1)} kB`;

  function follow(file: File | undefined): void {
    if (!file || loaded.has(file)) return;
    loaded.add(file);
    for (const name of [...file.imports, ...(whole ? file.later : [])]) follow(files.get(name));
  }
}

/** Packages that a program does without. xsai imports some where an app has them. */
function externalsOf(source: string): string[] {
  const absent = source.includes('"xsai"') ? ["effect", "sury", "@valibot/to-json-schema"] : [];
  return ["react", "react-dom", ...absent];
}

async function viteFilesOf(source: string): Promise<Map<string, File>> {
  const program = join(folder, "program.js");
  const external = new RegExp(`^(${externalsOf(source).join("|")})($|/)`);
  const made = await build({
    root: folder,
    configFile: false,
    logLevel: "silent",
    build: { write: false, modulePreload: { polyfill: false }, rollupOptions: { input: program, external } },
    plugins: [
      {
        name: "program",
        resolveId: (id) => (id === program ? id : undefined),
        load: (id) => (id === program ? source : undefined),
      },
    ],
  });
  const chunks = (made as Rollup.RollupOutput).output.filter((file) => file.type === "chunk");
  return new Map(
    chunks.map(({ fileName, code, isEntry, imports, dynamicImports: later }) => [
      fileName,
      { code, isEntry, imports, later },
    ]),
  );
}

interface Output {
  readonly entryPoint?: string;
  readonly imports: readonly { readonly path: string; readonly kind: string; readonly external?: boolean }[];
}

function esbuildFilesOf(source: string): Map<string, File> {
  const out = mkdtempSync(join(tmpdir(), "bench-"));
  const flags = [
    ...["bundle", "minify", "splitting", "format=esm", "platform=browser", "log-level=error"],
    ...externalsOf(source).map((name) => `external:${name}`),
    ...[`outdir=${out}`, `metafile=${out}/meta.json`, "entry-names=entry"],
  ].map((flag) => `--${flag}`);
  const args = [...flags, '--define:process.env.NODE_ENV="production"'];
  execFileSync(`${folder}node_modules/.bin/esbuild`, args, { cwd: folder, input: source });
  const { outputs } = JSON.parse(readFileSync(`${out}/meta.json`, "utf8")) as {
    outputs: Record<string, Output>;
  };
  const files = Object.entries(outputs).map(([path, { entryPoint, imports }]): [string, File] => {
    const namesOf = (isLater: boolean) =>
      imports
        .filter(({ kind, external }) => !external && (kind !== "import-statement") === isLater)
        .map((other) => other.path);
    const code = readFileSync(join(folder, path));
    const isEntry = entryPoint === "<stdin>";
    return [path, { code, isEntry, imports: namesOf(false), later: namesOf(true) }];
  });
  rmSync(out, { recursive: true });
  return new Map(files);
}
