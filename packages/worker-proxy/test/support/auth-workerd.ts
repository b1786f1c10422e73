import { createRequire } from "node:module";
import { build } from "vite";
import { openIssuer } from "./auth-issuer.js";
import { KEY } from "./key.js";
import { ok, startUpstream } from "./upstream.js";

interface Miniflare {
  readonly ready: Promise<URL>;
  unsafeGetDirectURL(worker: string): Promise<URL>;
  dispose(): Promise<void>;
}
const wrangler = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"));
const { Miniflare, convertV4MiniflareOptions } = wrangler("miniflare") as {
  Miniflare: new (options: object) => Miniflare;
  convertV4MiniflareOptions(options: object): object;
};

/**
 * A proxy in a new workerd, where requests share an isolate and nothing else. The gateway and the sign-in service's
 * keys are on a real socket; keys are answered as `answersKeys` says.
 */
export async function startGuardedProxy() {
  const upstream = await startUpstream();
  const issuer = await openIssuer();
  type Script = Parameters<typeof upstream.answers>[0] & object;
  const giveKeys: Script = (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ keys: issuer.keys() }));
  };
  const answersKeys = (script: Script = giveKeys) =>
    upstream.answers((response, request) =>
      (request.url.startsWith("/v1/") ? ok : script)(response, request),
    );
  answersKeys();
  const worker = {
    name: "worker",
    modules: [{ type: "ESModule", path: "worker.js", contents: await bundle() }],
    compatibilityDate: "2026-10-01",
    compatibilityFlags: ["enable_request_signal"],
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    bindings: { UPSTREAM: upstream.url, KEY },
  };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({ handleStructuredLogs: () => {}, workers: [worker] }),
  );
  await miniflare.ready;
  const url = await miniflare.unsafeGetDirectURL("worker");
  const token = await issuer.token();

  return {
    giveKeys,
    answersKeys,
    arrived: upstream.arrived,
    /** The paths that were asked for at the gateway and the sign-in service. */
    paths: () => upstream.requests.map((request) => request.url),
    async ask(init: RequestInit = {}) {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const body = JSON.stringify({ model: "delta-5.3", messages: [] });
      return (await fetch(new URL("/v1/chat/completions", url), { method: "POST", headers, body, ...init }))
        .status;
    },
    async close() {
      await miniflare.dispose();
      upstream.close();
    },
  };
}

async function bundle(): Promise<string> {
  const here = (path: string) => new URL(path, import.meta.url).pathname;
  const alias = {
    "@sluice/worker-proxy/auth": here("../../src/auth/index.ts"),
    "@sluice/worker-proxy": here("../../src/index.ts"),
  };
  const built = await build({
    configFile: false,
    logLevel: "silent",
    resolve: { alias },
    build: { write: false, minify: false, lib: { entry: here("./auth-worker.ts"), formats: ["es"] } },
  });
  const [{ output } = { output: [] }] = built as { output: { code: string }[] }[];
  return output[0]?.code ?? "";
}
