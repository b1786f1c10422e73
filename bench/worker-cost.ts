import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { aliasSources } from "./source-aliases.ts";

/*
 * node bench/worker-cost.ts [worker]: what the smallest Worker costs: its bytes as wrangler builds it, minified, and with
 * the settings of the templates, which also drop the names of functions; and its source lines that run from the start to
 * the end of one streamed chat. `--files` shows both for each file. The packages have to be built.
 */

const root = fileURLToPath(new URL("..", import.meta.url));
const given = process.argv.slice(2).find((argument) => !argument.startsWith("--"));
const worker = given ?? join(root, "bench/smallest-worker.ts");
const plain = build();
const minified = build({ minify: true });
const nameless = build({ minify: true, keep_names: false });
/** The same from the sources, to count their lines. */
const traced = build({}, aliasSources("worker-proxy", "core"));
const { lines, chars } = await measureLines();
const all = [...lines.values()].reduce(
  (sum, { run, size }) => ({ run: sum.run + run, size: sum.size + size }),
  {
    run: 0,
    size: 0,
  },
);
const kB = (code: Uint8Array | string) => `${(gzipSync(code, { level: 9 }).byteLength / 1000).toFixed(1)} kB`;
console.log(`as wrangler builds it: ${kB(plain.code)} compressed; minified: ${kB(minified.code)}`);
console.log(`with the settings of the templates: ${kB(nameless.code)}`);
console.log(`source lines in it: ${all.size}; run for one streamed chat: ${all.run}`);
if (process.argv.includes("--files")) printFiles();
for (const { folder } of [plain, minified, nameless, traced]) rmSync(folder, { recursive: true });

/** Bundles the Worker as `wrangler deploy` does, without sending it. */
function build(settings: object = {}, options: readonly string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-cost-"));
  const config = join(folder, "wrangler.json");
  const basic = { name: "smallest", main: resolve(worker), compatibility_date: "2026-10-01" };
  writeFileSync(config, JSON.stringify({ ...basic, ...settings }));
  const command = ["--no-install", "wrangler", "deploy", "--dry-run", "--config", config, "--outdir", folder];
  execFileSync("npx", [...command, ...options], {
    cwd: root,
    env: { ...process.env, CI: "1", WRANGLER_SEND_METRICS: "false" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const file = join(folder, `${worker.replace(/^.*\/|\.\w+$/g, "")}.js`);
  return { folder, file, code: readFileSync(file, "utf8") };
}

interface FileLines {
  /** Source lines with code in the bundle. */
  readonly size: number;
  /** Those of them that ran. */
  readonly run: number;
}

/** Runs the bundle for one streamed chat, and counts the source lines of what V8 has executed. */
async function measureLines() {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  await streamChat();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const functions = result.find(({ url }) => url === pathToFileURL(traced.file).href)?.functions ?? [];
  const ran = new Uint8Array(traced.code.length);
  for (const { ranges } of functions)
    for (const { startOffset, endOffset, count } of ranges)
      ran.fill(Math.min(count, 1), startOffset, endOffset);

  const map = new SourceMap(JSON.parse(readFileSync(`${traced.file}.map`, "utf8")));
  const found = new Map<string, Map<number, boolean>>();
  const chars = new Map<string, number>();
  let offset = 0;
  for (const [nth, line] of traced.code.split("\n").entries()) {
    for (let column = 0; column < line.length; column += 1) {
      const entry = map.findEntry(nth, column);
      if (!("originalSource" in entry)) continue;
      chars.set(entry.originalSource, (chars.get(entry.originalSource) ?? 0) + 1);
      if (/\s/.test(line[column] ?? "")) continue;
      const known = found.get(entry.originalSource) ?? new Map<number, boolean>();
      found.set(entry.originalSource, known);
      known.set(entry.originalLine, known.get(entry.originalLine) || ran[offset + column] === 1);
    }
    offset += line.length + 1;
  }
  const lines = new Map<string, FileLines>();
  for (const [source, known] of found)
    lines.set(source, { size: known.size, run: [...known.values()].filter(Boolean).length });
  return { lines, chars };
}

async function streamChat(): Promise<void> {
  const frame = (delta: string, rest = "") =>
    `data: {"id":"1","object":"chat.completion.chunk","model":"delta-5.3","choices":[{"index":0,"delta":${delta}${rest}}]}\n\n`;
  const frames = [
    frame('{"role":"assistant"}'),
    ...["Why", " not", "?"].map((text) => frame(`{"content":${JSON.stringify(text)}}`)),
    frame("{}", ',"finish_reason":"stop"'),
    "data: [DONE]\n\n",
  ];
  globalThis.fetch = async () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          const next = frames.shift();
          await new Promise((resolve) => setTimeout(resolve, 5));
          if (next === undefined) controller.close();
          else controller.enqueue(new TextEncoder().encode(next));
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  const { default: proxy } = await import(pathToFileURL(traced.file).href);
  const body = JSON.stringify({
    model: "delta-5.3",
    stream: true,
    messages: [{ role: "user", content: "Why?" }],
  });
  const headers = {
    authorization: "Bearer user",
    "content-type": "application/json",
    "content-length": String(body.length),
    origin: "https://app.example.com",
  };
  const response: Response = await proxy.fetch(
    new Request("https://proxy.example.com/v1/chat/completions", { method: "POST", headers, body }),
    {},
    { waitUntil() {} },
  );
  const text = await response.text();
  if (response.status !== 200 || !text.includes("[DONE]")) throw new Error(`no whole response: ${text}`);
  await new Promise((resolve) => setTimeout(resolve, 20));
}

function printFiles(): void {
  const rows = [...lines].sort(([, one], [, other]) => other.run - one.run);
  for (const [source, { run, size }] of rows)
    console.log(
      [String(run).padStart(5), String(size).padStart(5), String(chars.get(source)).padStart(7)].join(" "),
      relative(root, join(traced.folder, source)),
    );
}
