import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { type Served, serve } from "@sluice/emulator/serve";

const studio = join(import.meta.dirname, "../../examples/studio");
const types: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".svg": "image/svg+xml",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
  ".bcmap": "application/octet-stream",
};

/** The hosted studio on a static file server. */
export interface HostedStudio {
  /** Address of the page. */
  readonly address: string;
  /** Requested paths, including missing files. */
  readonly requestedURLs: readonly string[];
  /** Removes a path, like a failed deployment. */
  readonly removePath: (path: string) => void;
  readonly close: () => Promise<void>;
}

/** Builds the hosted studio, and serves it below a path. */
export async function startHostedStudio(path: string): Promise<HostedStudio> {
  await buildOnce();
  const requestedURLs: string[] = [];
  const removed = new Set<string>();
  const site: Served = await serve({ fetch: respond }, { port: 0 });
  return {
    address: site.url + path,
    requestedURLs,
    removePath: (name) => void removed.add(path + name),
    close: () => site.close(),
  };

  async function respond(input: Request | URL | string): Promise<Response> {
    const { pathname } = new URL((input as Request).url);
    requestedURLs.push(pathname);
    const name = pathname.startsWith(path) ? pathname.slice(path.length) || "index.html" : undefined;
    if (name === undefined || removed.has(pathname)) return new Response("not found", { status: 404 });
    const content = await readFile(join(studio, "demo/hosted/dist", name)).catch(() => undefined);
    if (!content) return new Response("not found", { status: 404 });
    // browsers must revalidate each file, as on most static hosts
    const headers = { "content-type": types[extname(name)] ?? "", "cache-control": "no-cache" };
    return new Response(content, { headers });
  }
}

let building: Promise<void> | undefined;

function buildOnce(): Promise<void> {
  building ??= build();
  return building;
}

async function build(): Promise<void> {
  const child = spawn(process.execPath, ["demo/hosted/build.ts"], {
    cwd: studio,
    stdio: ["ignore", "pipe", "pipe"],
    // settings of the test run must not affect the build
    env: { ...process.env, NODE_ENV: "production", VITEST: "" },
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (piece: string) => {
      printed += piece;
    });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(printed);
}
