import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/* Hovers and completions that an editor shows in an app: with the oldest supported TypeScript, and with the newest. */

/** Marks each name whose hover the test reads. */
const MARK = "/**/";

/** Reads the hovers of `file` with TypeScript 5.4: one for each mark, the signature before the text. */
export function readHoversOfOldest(file: string, options: object): string[] {
  const { ts, service } = openOldest(file, options);
  return findMarks(readFileSync(file, "utf8")).map((position) => {
    const { displayParts, documentation, tags } = service.getQuickInfoAtPosition(file, position) ?? {};
    const tagText = (tags ?? []).map((tag: { name: string; text?: object[] }) => {
      return `@${tag.name} ${ts.displayPartsToString(tag.text)}`;
    });
    return [ts.displayPartsToString(displayParts), ts.displayPartsToString(documentation), ...tagText].join(
      "\n",
    );
  });
}

/** Reads the names that TypeScript 5.4 offers at each mark. The marks are removed from the text first. */
export function readCompletionsOfOldest(file: string, options: object): string[][] {
  const text = readFileSync(file, "utf8");
  const { service } = openOldest(file, options, text.replaceAll(MARK, ""));
  return removeMarks(text).map((position) => {
    const entries: { name: string }[] = service.getCompletionsAtPosition(file, position, {})?.entries ?? [];
    return entries.map(({ name }) => name);
  });
}

function openOldest(file: string, options: object, shown?: string) {
  const ts = createRequire(import.meta.url)("typescript-5.4");
  const readFileText = (path: string) => (path === file && shown) || readFileSync(path, "utf8");
  const service = ts.createLanguageService({
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    getCurrentDirectory: ts.sys.getCurrentDirectory,
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot: (path: string) =>
      existsSync(path) ? ts.ScriptSnapshot.fromString(readFileText(path)) : undefined,
    getCompilationSettings: () => ts.convertCompilerOptionsFromJson(options, ".").options,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  });
  return { ts, service };
}

/** Reads the hovers of `file` with the language server of the newest TypeScript: one for each mark. */
export async function readHoversOfNewest(file: string): Promise<string[]> {
  const text = readFileSync(file, "utf8");
  const offsets = findMarks(text);
  return (await requestNewest<Shown | null>(file, text, offsets, "textDocument/hover")).map(joinText);
}

/** Reads the names that the newest TypeScript offers at each mark. */
export async function readCompletionsOfNewest(file: string): Promise<string[][]> {
  const text = readFileSync(file, "utf8");
  const shown = text.replaceAll(MARK, "");
  const lists = await requestNewest<Offered | null>(
    file,
    shown,
    removeMarks(text),
    "textDocument/completion",
  );
  return lists.map((list) => (list?.items ?? []).map(({ label }) => label.replace(/\?$/, "")));
}

/** Queries the language server of the newest TypeScript about locations in a file. */
async function requestNewest<Result>(
  file: string,
  text: string,
  offsets: readonly number[],
  method: string,
): Promise<Result[]> {
  const tsc = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
  const server = spawn(process.execPath, [tsc, "--lsp", "--stdio"], { stdio: ["pipe", "pipe", "ignore"] });
  const pending = new Map<number, (result: never) => void>();
  const send = (message: object) => {
    const json = JSON.stringify({ jsonrpc: "2.0", ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`);
  };
  const request = <Result>(method: string, params: object) =>
    new Promise<Result>((resolve) => {
      pending.set(pending.size, resolve);
      send({ id: pending.size - 1, method, params });
    });
  readMessages(server.stdout, ({ id, method, result }) => {
    if (method !== undefined && id !== undefined) send({ id, result: null });
    else if (id !== undefined) pending.get(id)?.(result as never);
  });
  try {
    const uri = pathToFileURL(file).href;
    await request("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
    send({ method: "initialized", params: {} });
    send({
      method: "textDocument/didOpen",
      params: { textDocument: { uri, languageId: "typescript", version: 1, text } },
    });
    return await Promise.all(
      offsets.map((offset) => {
        const before = text.slice(0, offset).split("\n");
        const position = { line: before.length - 1, character: before.at(-1)?.length };
        return request<Result>(method, { textDocument: { uri }, position });
      }),
    );
  } finally {
    server.kill();
  }
}

interface Offered {
  readonly items: readonly { readonly label: string }[];
}

interface Shown {
  readonly contents: string | { readonly value: string };
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: unknown;
}

function findMarks(text: string): number[] {
  return [...text.matchAll(/\/\*\*\//g)].map(({ index }) => index + MARK.length);
}

/** The offsets of the marks in the text without them. */
function removeMarks(text: string): number[] {
  return findMarks(text).map((position, index) => position - MARK.length * (index + 1));
}

function joinText(hover: Shown | null): string {
  if (hover === null) return "";
  return typeof hover.contents === "string" ? hover.contents : hover.contents.value;
}

/** Reads the messages of a language server. A header with its length precedes each message. */
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
