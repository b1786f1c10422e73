import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright";
import { chromiumFlags, findChromium } from "../../scripts/chromium.ts";
import { type Built, bundlers, reactFiles } from "../bundlers.ts";
import { put, type Report, tableOf } from "../topic.ts";
import { makeEvents } from "../workload.ts";

export const title = "Loaded by the end of one answer";

/** Programs that ask for one answer, and call `ended` when it has ended. React is left out. */
const programs = {
  "one streamed answer": `
    import { createClient, streamChat } from "@sluice/core";
    const client = createClient({ baseURL: "/api" });
    const answer = streamChat(client, { model: "delta-5.3", messages: [{ role: "user", content: "hi" }] });
    for await (const delta of answer) document.title = delta.type;
    await answer.result();
    ended();`,
  "a chat in React": `
    import { createClient } from "@sluice/core";
    import { GatewayProvider, useChatStream } from "@sluice/react";
    import { createElement, useEffect } from "react";
    import { createRoot } from "react-dom/client";
    const client = createClient({ baseURL: "/api" });
    function Chat() {
      const chat = useChatStream({ model: "delta-5.3" });
      useEffect(() => void chat.send("hi").then(ended), []);
      return createElement("p", null, chat.messages.length);
    }
    createRoot(document.body).render(createElement(GatewayProvider, { client }, createElement(Chat)));`,
} as const;

/** Events of the answer, one each 10 ms. */
const events = [...makeEvents(100), "data: [DONE]\n\n"];
const EVENT_MS = 10;

export async function measure(): Promise<Report> {
  const columns: Record<string, Record<string, string>> = {};
  const texts: Record<string, string> = {};
  for (const [name, source] of Object.entries(programs))
    for (const [bundler, bundle] of Object.entries(bundlers)) {
      const { atOnce, atEnd, idle } = await loadedBy(await bundle(source));
      put(columns, `${name}: before it is asked for`, bundler, kilobytes(atOnce));
      put(columns, `${name}: when it has ended`, bundler, kilobytes(atEnd));
      put(columns, `${name}: two seconds later`, bundler, kilobytes(idle));
      if (bundler === "Vite") texts[name] = kilobytes(atEnd);
    }
  return {
    markdown: `A page in Chromium asks for one answer of 100 events in a second. The files of the program that the page has loaded when the answer has ended, minified, gzip, without React; and two seconds later, when the page had nothing to do.\n\n${tableOf("bundler", columns)}`,
    summary: Object.entries(texts).map(([name, text]) => ({
      measure: `${name}, without React, loaded when it has ended`,
      texts: { Sluice: text },
    })),
  };
}

/** Opens a page with a program, and returns the compressed bytes of all files that it has loaded by then. */
async function loadedBy(files: Built): Promise<{ atOnce: number; atEnd: number; idle: number }> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("no Chromium here: install one, or set CHROMIUM to its path");
  let bytes = 0;
  let atOnce = 0;
  const react = await reactFiles();
  const [entry] = [...files].find(([, { isEntry }]) => isEntry) ?? [];
  const page = `<!doctype html><link rel="icon" href="data:,"><body><script type="importmap">${JSON.stringify(react.map)}</script><script type="module" src="/${entry}"></script>`;
  const server = createServer((request, response) => {
    const path = (request.url ?? "/").slice(1);
    const code = files.get(path)?.code;
    if (code !== undefined) bytes += gzipSync(code, { level: 9 }).length;
    if (path.startsWith("api/")) {
      atOnce ||= bytes;
      return stream(response);
    }
    const script = code ?? react.files.get(path);
    response.setHeader("content-type", script === undefined ? "text/html" : "text/javascript");
    response.end(script ?? page);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await chromium.launch({ executablePath, args: [...chromiumFlags] });
  try {
    const opened = await browser.newPage();
    const hasEnded = Promise.withResolvers<void>();
    opened.on("pageerror", hasEnded.reject);
    await opened.exposeFunction("ended", hasEnded.resolve);
    await opened.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await hasEnded.promise;
    const atEnd = bytes;
    await opened.waitForTimeout(2000);
    return { atOnce, atEnd, idle: bytes };
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

const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;
