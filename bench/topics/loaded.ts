import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright";
import { chromiumFlags, findChromium } from "../../scripts/chromium.ts";
import { type Built, bundlers, reactFiles } from "../bundlers.ts";
import { formatTable, put, type Report } from "../topic.ts";
import { makeEvents } from "../workload.ts";
import { formatKilobytes, programs as others } from "./sizes.ts";

export const title = "Loaded by the end of one response";

/** Programs that request one response, and call `end` when it has ended. React is not bundled. */
const programs = {
  "one streamed response": `
    import { createClient, streamChat } from "@sluice/core";
    const client = createClient({ baseURL: "/api" });
    async function ask() {
      const stream = streamChat(client, { model: "delta-5.3", messages: [{ role: "user", content: "hi" }] });
      for await (const delta of stream) document.title = delta.type;
      await stream.result();
    }
    ask().then(end);`,
  "a chat in React": `
    import { createClient } from "@sluice/core";
    import { GatewayProvider, useChatStream } from "@sluice/react";
    import { createElement, useEffect } from "react";
    import { createRoot } from "react-dom/client";
    const client = createClient({ baseURL: "/api" });
    function Chat() {
      const chat = useChatStream({ model: "delta-5.3" });
      useEffect(() => void chat.send("hi").then(end), []);
      return createElement("p", null, chat.messages.length);
    }
    createRoot(document.body).render(createElement(GatewayProvider, { client }, createElement(Chat)));`,
} as const;

/** Events of the response, one each 10 ms. */
const events = [...makeEvents(100), "data: [DONE]\n\n"];
const EVENT_MS = 10;

export async function measure(): Promise<Report> {
  const columns: Record<string, Record<string, string>> = {};
  const texts: Record<string, string> = {};
  for (const [name, source] of Object.entries(programs))
    for (const [bundler, bundle] of Object.entries(bundlers)) {
      const { atEnd, idle } = await loadedBy(await bundle(source));
      put(columns, `${name}: when it has ended`, bundler, kilobytes(atEnd));
      put(columns, `${name}: two seconds later`, bundler, kilobytes(idle));
      if (bundler === "Vite") texts[name] = kilobytes(atEnd);
    }
  return {
    markdown: `A page in Chromium requests one response: 100 events in one second. The figures are the sizes of the program's files that the page has loaded when the response has ended, and two seconds later, because some files load while the page is idle. The files are minified and compressed with gzip. React is not counted.\n\n${formatTable("bundler", columns)}`,
    summary: await Promise.all(
      Object.entries(texts).map(async ([name, text]) => ({
        measure: `${name}, minified and compressed, without React, loaded when it has ended`,
        texts: { ...(await buildOthers(name)), Sluice: text },
      })),
    ),
  };
}

/** Source of an expression for the page: the paths of all files that it has loaded. */
const LOADED = 'performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname.slice(1))';
declare const loadedAtEnd: string[] | undefined;

/** Measures the sizes of other clients, which load all of their files when they start. */
async function buildOthers(name: string): Promise<Record<string, string>> {
  const sizes: Record<string, string> = {};
  for (const [client, source] of Object.entries(others[name] ?? {}))
    sizes[client] = formatKilobytes(await bundlers.Vite(source), true);
  return sizes;
}

/** Opens a page with a program, and returns the compressed bytes of the files that it has loaded. */
async function loadedBy(files: Built): Promise<{ atEnd: number; idle: number }> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("no Chromium here: install one, or set CHROMIUM to its path");
  const react = await reactFiles();
  const [entry] = [...files].find(([, { isEntry }]) => isEntry) ?? [];
  const page = `<!doctype html><link rel="icon" href="data:,"><body><script>function end() { loadedAtEnd = ${LOADED} } var loadedAtEnd</script><script type="importmap">${JSON.stringify(react.map)}</script><script type="module" src="/${entry}"></script>`;
  const server = createServer((request, response) => {
    const path = (request.url ?? "/").slice(1);
    if (path.startsWith("api/")) return stream(response);
    const script = files.get(path)?.code ?? react.files.get(path);
    response.setHeader("content-type", script === undefined ? "text/html" : "text/javascript");
    response.end(script ?? page);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await chromium.launch({ executablePath, args: [...chromiumFlags] });
  try {
    const opened = await browser.newPage();
    const failed = new Promise<never>((_, reject) => opened.on("pageerror", reject));
    await opened.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const loaded = await Promise.race([opened.waitForFunction(() => loadedAtEnd), failed]);
    const atEnd = sumBytes(files, await loaded.jsonValue());
    await opened.waitForTimeout(2000);
    return { atEnd, idle: sumBytes(files, await opened.evaluate(LOADED)) };
  } finally {
    await browser.close();
    server.close();
    server.closeAllConnections();
  }
}

function stream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  let at = 0;
  const timer = setInterval(() => {
    response.write(events[at++]);
    if (at < events.length) return;
    clearInterval(timer);
    response.end();
  }, EVENT_MS);
}

function sumBytes(files: Built, paths: unknown): number {
  const loaded = new Set(paths as string[]);
  const codes = [...files].flatMap(([path, { code }]) => (loaded.has(path) ? [code] : []));
  return codes.reduce((sum, code) => sum + gzipSync(code, { level: 9 }).length, 0);
}

const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;
