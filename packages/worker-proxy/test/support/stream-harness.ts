import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { build } from "vite";
import { KEY } from "./key.js";
import { startUpstream } from "./upstream.js";

const wrangler = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"));
const { default: workerd } = wrangler("workerd") as { default: string };

/** A proxy with logged streams in a workerd of its own, which can be killed and started again over the same storage. */
export async function startStreams({ idleMs = 60_000 } = {}) {
  const upstream = await startUpstream();
  const folder = await mkdtemp(join(tmpdir(), "sluice-streams-"));
  await mkdir(join(folder, "objects"));
  await writeFile(
    join(folder, "worker.js"),
    await bundle("../fixture/stream-worker.ts", { IDLE_MS: String(idleMs) }),
  );
  await writeFile(join(folder, "config.capnp"), configOf(upstream.url, join(folder, "objects")));
  let { running, address } = await start();

  return {
    upstream,
    get address() {
      return address;
    },
    /** A request of a signed-in user. */
    ask: (init: RequestInit = {}, path = "/v1/chat/completions") =>
      fetch(address + path, {
        ...init,
        headers: { authorization: "user-1", "content-type": "application/json", ...(init.headers as object) },
      }),
    /** Ends workerd without a word, as a machine that loses power, and starts another one. */
    async crash() {
      await end();
      ({ running, address } = await start());
    },
    async close() {
      await end();
      upstream.close();
      await rm(folder, { recursive: true });
    },
  };

  async function start(): Promise<{ running: ChildProcess; address: string }> {
    const started = spawn(
      workerd,
      ["serve", "--control-fd=3", "--experimental", join(folder, "config.capnp")],
      {
        stdio: ["ignore", "ignore", "inherit", "pipe"],
      },
    );
    for await (const line of createInterface(started.stdio[3] as Readable)) {
      const said = JSON.parse(line) as { event: string; port?: number };
      if (said.event === "listen") return { running: started, address: `http://127.0.0.1:${said.port}` };
    }
    throw new Error("workerd ended before it listened");
  }

  async function end(): Promise<void> {
    const ended = once(running, "exit");
    running.kill("SIGKILL");
    await ended;
  }
}

function configOf(upstream: string, objects: string): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "proxy", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-10-01",
      compatibilityFlags = ["enable_request_signal"],
      bindings = [
        (name = "UPSTREAM", text = "${upstream}"),
        (name = "GATEWAY_API_KEY", text = "${KEY}"),
        (name = "STREAM_LOG", durableObjectNamespace = "StreamLog"),
      ],
      durableObjectNamespaces = [(className = "StreamLog", uniqueKey = "stream-log", enableSql = true)],
      durableObjectStorage = (localDisk = "objects"),
      globalOutbound = "network",
    )),
    (name = "objects", disk = (path = "${objects}", writable = true)),
    (name = "network", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "proxy")],
);`;
}

async function bundle(path: string, define: Record<string, string>): Promise<string> {
  const here = (path: string) => new URL(path, import.meta.url).pathname;
  const alias = {
    "@sluice/worker-proxy/durable": here("../../src/durable/index.ts"),
    "@sluice/worker-proxy": here("../../src/index.ts"),
  };
  const built = await build({
    configFile: false,
    logLevel: "silent",
    resolve: { alias },
    define,
    build: { write: false, minify: false, lib: { entry: here(path), formats: ["es"] } },
  });
  const [{ output } = { output: [] }] = built as { output: { code: string }[] }[];
  return output[0]?.code ?? "";
}
