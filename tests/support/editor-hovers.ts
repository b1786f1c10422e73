import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/* The hovers of an editor over a file of a consumer, by the oldest TypeScript that is promised and by ours. */

/** Mark before each name whose hover is read. */
const MARK = "/**/";

/** Reads the hovers of `file` with TypeScript 5.4: one for each mark, the signature before the text. */
export function hoversOfOldest(file: string, options: object): string[] {
  const ts = createRequire(import.meta.url)("typescript-5.4");
  const text = readFileSync(file, "utf8");
  const service = ts.createLanguageService({
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    getCurrentDirectory: ts.sys.getCurrentDirectory,
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot: (path: string) =>
      existsSync(path) ? ts.ScriptSnapshot.fromString(readFileSync(path, "utf8")) : undefined,
    getCompilationSettings: () => ts.convertCompilerOptionsFromJson(options, ".").options,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  });
  return marksOf(text).map((position) => {
    const { displayParts, documentation, tags } = service.getQuickInfoAtPosition(file, position) ?? {};
    const tagText = (tags ?? []).map((tag: { name: string; text?: object[] }) => {
      return `@${tag.name} ${ts.displayPartsToString(tag.text)}`;
    });
    return [ts.displayPartsToString(displayParts), ts.displayPartsToString(documentation), ...tagText].join(
      "\n",
    );
  });
}

/** Reads the hovers of `file` with the language server of the newest TypeScript: one for each mark. */
export async function hoversOfNewest(file: string): Promise<string[]> {
  const tsc = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
  const server = spawn(process.execPath, [tsc, "--lsp", "--stdio"], { stdio: ["pipe", "pipe", "ignore"] });
  const asked = new Map<number, (result: never) => void>();
  const send = (message: object) => {
    const json = JSON.stringify({ jsonrpc: "2.0", ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`);
  };
  const ask = <Result>(method: string, params: object) =>
    new Promise<Result>((resolve) => {
      asked.set(asked.size, resolve);
      send({ id: asked.size - 1, method, params });
    });
  readMessages(server.stdout, ({ id, method, result }) => {
    if (method !== undefined && id !== undefined) send({ id, result: null });
    else if (id !== undefined) asked.get(id)?.(result as never);
  });
  try {
    const text = readFileSync(file, "utf8");
    const uri = pathToFileURL(file).href;
    await ask("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
    send({ method: "initialized", params: {} });
    send({
      method: "textDocument/didOpen",
      params: { textDocument: { uri, languageId: "typescript", version: 1, text } },
    });
    const hovers = marksOf(text).map((mark) => {
      const before = text.slice(0, mark).split("\n");
      const position = { line: before.length - 1, character: before.at(-1)?.length };
      return ask<Shown | null>("textDocument/hover", { textDocument: { uri }, position });
    });
    return (await Promise.all(hovers)).map((hover) => textOf(hover));
  } finally {
    server.kill();
  }
}

interface Shown {
  readonly contents: string | { readonly value: string };
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: unknown;
}

function marksOf(text: string): number[] {
  return [...text.matchAll(/\/\*\*\//g)].map(({ index }) => index + MARK.length);
}

function textOf(hover: Shown | null): string {
  if (hover === null) return "";
  return typeof hover.contents === "string" ? hover.contents : hover.contents.value;
}

/** Reads the messages of a language server, each behind a header with its length. */
function readMessages(stream: NodeJS.ReadableStream, take: (message: Message) => void): void {
  let bytes = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (;;) {
      const body = bytes.indexOf("\r\n\r\n") + 4;
      const length = Number(/Content-Length: (\d+)/.exec(bytes.toString("latin1", 0, body))?.[1]);
      if (body < 4 || bytes.length < body + length) return;
      take(JSON.parse(bytes.toString("utf8", body, body + length)));
      bytes = bytes.subarray(body + length);
    }
  });
}
