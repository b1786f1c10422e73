import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { createEmulator, type Emulator, type EmulatorOptions } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { createProxy } from "@sluice/worker-proxy";
import { type ProxyEnv, options as proxyOptions } from "../../examples/studio/proxy-options.ts";

const dist = fileURLToPath(new URL("../../examples/studio/dist/", import.meta.url));
const KEY = "sk-quick-studio";

/** The built page, the studio's proxy without its Durable Objects, and the emulator, in this process: fast, unlike the demo. */
export interface QuickStudio {
  readonly address: string;
  readonly emulator: Emulator;
  /** The bodies of the creates that the gateway saw at `path`, in order. */
  readonly created: (path: string) => readonly unknown[];
  readonly close: () => Promise<void>;
}

/** Options of the gateway and its files. */
export interface QuickStudioOptions extends Omit<EmulatorOptions, "apiKeys"> {
  /** PNG that is served for every file of the gateway. @default the emulator's images and videos, which take time */
  readonly image?: Uint8Array<ArrayBuffer>;
}

/** Starts it, after the build. */
export async function startQuickStudio({ image, ...options }: QuickStudioOptions): Promise<QuickStudio> {
  const emulator = createEmulator({ apiKeys: [KEY], ...options });
  const gateway = await serve(image ? withImage(emulator, image) : emulator, { port: 0 });
  // the page's clock is ahead: a reply of a moment ago is hours old
  const worker = createProxy<ProxyEnv>({ ...proxyOptions, plugins: [] });
  const env = { GATEWAY_URL: gateway.url, GATEWAY_API_KEY: KEY, ORIGINS: "" };
  const site = await serve(
    {
      ...emulator,
      fetch: async (input) => {
        const request = input as Request;
        const { pathname } = new URL(request.url);
        return (await serveAsset(pathname)) ?? worker.fetch(request, env);
      },
    },
    { port: 0 },
  );
  env.ORIGINS = site.url;
  return {
    address: site.url,
    emulator,
    created: (path) =>
      emulator.requests
        .filter((request) => request.method === "POST" && request.path === path)
        .map(({ body }) => body),
    async close() {
      await Promise.all([site.close(), gateway.close()]);
    },
  };
}

function withImage(emulator: Emulator, image: Uint8Array<ArrayBuffer>): Emulator {
  const headers = { "content-type": "image/png", "access-control-allow-origin": "*" };
  return {
    ...emulator,
    fetch: async (input, init) =>
      new URL((input as Request).url).pathname.startsWith("/files/")
        ? new Response(image, { headers })
        : emulator.fetch(input, init),
  };
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".bcmap": "application/octet-stream",
  ".webp": "image/webp",
};

/** Files of the page that were read, so that a test does not wait for the disk. */
const files = new Map<string, Promise<Buffer<ArrayBuffer>>>();

/** Serves a file of the page. As in production, a browser caches files with a hash in their name. */
async function serveAsset(pathname: string): Promise<Response | undefined> {
  const name = pathname === "/" ? "/index.html" : pathname;
  const type = types[extname(name)];
  if (type === undefined || name.includes("..")) return undefined;
  const reading = files.get(name) ?? readFile(dist + name.slice(1));
  files.set(name, reading);
  const cache = name.startsWith("/assets/") ? { "cache-control": "public, max-age=31536000, immutable" } : {};
  return new Response(await reading, { headers: { "content-type": type, ...cache } });
}
