import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Served, serve } from "@sluice/emulator/serve";
import { runInTurn } from "../../scripts/test/in-turn.ts";

const root = join(import.meta.dirname, "../..");
const docs = join(root, "docs");
/** Folder of the built site. */
const siteFolder = join(docs, "dist");

/** Everything that the site is made from: its pages and its code, and the packages, which the live examples bundle. */
const sources = [
  "docs/**/*.*",
  "labs/registry/**/*.*",
  "packages/*/{src,dist}/**/*.*",
  "examples/studio/{build,demo,public,src}/**/*.*",
  "examples/studio/*.{ts,html}",
  "{.,packages/*,labs/*,examples/*}/*.{md,json}",
];
const generated = [
  "docs/{dist,public,reference}/**",
  "examples/studio/demo/hosted/dist/**",
  "docs/.vitepress/.tmp/**",
  "**/node_modules/**",
];

/**
 * Builds the site, unless it was built from the same files before. Test processes
 * take turns, because all of them use one folder. Rejects with what the build printed if it fails, as it does on a dead
 * link.
 */
export async function buildSite(): Promise<void> {
  await runInTurn(join(import.meta.dirname, "../.tmp/docs-site.lock"), async () => {
    const stamp = join(siteFolder, ".sources");
    const hash = hashOfSources();
    if (globSync(stamp).length > 0 && readFileSync(stamp, "utf8") === hash) return;
    await build();
    writeFileSync(stamp, hash);
  });
}

function hashOfSources(): string {
  const hash = createHash("sha256");
  const files = globSync(sources, { cwd: root, exclude: generated, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  for (const file of files.sort()) hash.update(file).update(readFileSync(file));
  return hash.digest("hex");
}

/** Builds the site for a path of its host, into a folder of `docs`. Code is not highlighted. */
export function buildSiteAt(base: string, out: string): Promise<void> {
  return runInTurn(join(import.meta.dirname, "../.tmp/docs-site.lock"), () =>
    build(["--plain"], { DOCS_BASE: base, DOCS_OUT: out }),
  );
}

async function build(options: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<void> {
  const child = spawn(process.execPath, [join(docs, ".vitepress/build.ts"), ...options], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (piece: string) => {
      printed += piece;
    });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(printed);
}

/** A file of the built site. */
export const readSite = (path: string) => readFileSync(join(siteFolder, path), "utf8");

const types: Readonly<Record<string, string>> = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  json: "application/json",
  txt: "text/plain",
  woff2: "font/woff2",
};

/** Serves the built site as any static host does. */
export function serveSite(): Promise<Served> {
  return serve({ fetch: respond }, { port: 0 });

  async function respond(input: Request | URL | string): Promise<Response> {
    const { pathname } = new URL((input as Request).url);
    const path = join(siteFolder, pathname.endsWith("/") ? `${pathname}index.html` : pathname);
    const type = types[path.split(".").at(-1) ?? ""] ?? "application/octet-stream";
    const content = await readFile(path).catch(() => undefined);
    return content
      ? new Response(content, { headers: { "content-type": type } })
      : new Response("not found", { status: 404 });
  }
}

/** Links between the pages of the site, also to anchors, that lead nowhere: `page → link`. */
export function findDeadLinks(): string[] {
  const pages = new Map(
    globSync("**/*.html", { cwd: siteFolder }).map((path) => [
      `/${path}`,
      readFileSync(join(siteFolder, path), "utf8"),
    ]),
  );
  const anchors = new Map([...pages].map(([path, html]) => [path, listIds(html)]));
  return [...pages].flatMap(([page, html]) =>
    listLinks(html)
      .filter((link) => !hasAnchor(page, link))
      .map((link) => `${page} → ${link}`),
  );

  function hasAnchor(page: string, link: string): boolean {
    const { pathname, hash } = new URL(link, `https://docs.test${page}`);
    const target = [pathname, `${pathname}index.html`, `${pathname}.html`].find((path) => pages.has(path));
    if (!target) return globSync(`.${decodeURI(pathname)}`, { cwd: siteFolder }).length > 0;
    return !hash || anchors.get(target)?.has(decodeURIComponent(hash.slice(1))) === true;
  }
}

/** Anchors of one page or of all pages of a folder of the built site. */
export function listAnchorsOfSite(path: string): Set<string> {
  const pages = path.endsWith(".html") ? [path] : globSync(`${path}/*.html`, { cwd: siteFolder });
  return new Set(pages.flatMap((page) => [...listIds(readFileSync(join(siteFolder, page), "utf8"))]));
}

function listIds(html: string): Set<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => id));
}

/** Links to the same site. */
function listLinks(html: string): string[] {
  const links = [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, link = ""]) => link);
  return [...new Set(links)].filter((link) => !/^[a-z]+:/.test(link));
}
