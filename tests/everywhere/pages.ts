import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { build } from "vite";
import type { Report } from "./platforms.ts";

/*
 * The pages that run the behaviours: a page built by Vite, and a page without a bundler.
 */

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
};

/** A server of a project's files, which receives the reports of its pages. */
export interface Pages {
  readonly url: string;
  /** Paths that were requested since the last call. */
  readonly requested: () => string[];
  /** Resolves to the next report. Rejects after three minutes without a report. */
  readonly report: () => Promise<Report>;
  readonly close: () => void;
}

export async function servePages(folder: string): Promise<Pages> {
  const paths: string[] = [];
  let receive = (_: Report) => {};
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://page");
    if (request.method === "POST") {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece);
      response.end();
      return receive(JSON.parse(String(Buffer.concat(pieces))));
    }
    paths.push(pathname);
    const file = await readFile(join(folder, pathname)).catch(() => undefined);
    response.writeHead(file ? 200 : 404, { "content-type": types[extname(pathname)] ?? "text/plain" });
    response.end(file);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requested: () => paths.splice(0),
    report: () =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error("the page sent no report in three minutes")),
          180_000,
        );
        receive = (report) => {
          clearTimeout(timer);
          resolve(report);
        };
      }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Builds the page with Vite, as an app would be built, and all of the client as one file, into `built/` of the project. */
export async function buildPage(folder: string): Promise<void> {
  const input = join(folder, "page.html");
  await build({
    configFile: false,
    logLevel: "error",
    root: folder,
    base: "./",
    build: { outDir: join(folder, "built"), rolldownOptions: { input } },
  });
  await build({
    configFile: false,
    logLevel: "error",
    root: folder,
    build: {
      outDir: join(folder, "built"),
      emptyOutDir: false,
      lib: { entry: join(folder, "one-file.js"), formats: ["es"], fileName: () => "one-file.js" },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
}
