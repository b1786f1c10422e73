import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { bundle } from "./bundle.js";
import { KEY } from "./key.js";
import { startUpstream } from "./upstream.js";

const wrangler = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"));
const { default: workerd } = wrangler("workerd") as { default: string };

/**
 * The proxy with its Durable Objects in a workerd of its own, whose storage is on disk: it can be killed as a machine
 * loses power, and started again. Behind it a gateway that answers as it is told.
 */
export async function startDurableProxy({ stallMs = 60_000, flags = ["enable_request_signal"] } = {}) {
  const upstream = await startUpstream();
  const folder = await mkdtemp(join(tmpdir(), "sluice-durable-"));
  const objects = join(folder, "objects");
  await mkdir(objects);
  await writeFile(
    join(folder, "worker.js"),
    await bundle("../fixture/durable-proxy.ts", { STALL_MS: String(stallMs) }),
  );
  await writeFile(join(folder, "config.capnp"), configOf(upstream.url, objects, flags));
  let running: ChildProcess;
  let address = "";
  await start();

  return {
    upstream,
    get address() {
      return address;
    },
    /** A request of a signed-in user. */
    ask: (path: string, init: RequestInit = {}) =>
      fetch(address + path, {
        ...init,
        headers: { authorization: "user-1", "content-type": "application/json", ...(init.headers as object) },
      }),
    kill,
    start,
    /** Ends it, and the gateway, and forgets what was stored. */
    async close() {
      await kill();
      upstream.close();
      await rm(folder, { recursive: true });
    },
  };

  /** Starts it again, over the same storage and at another address. */
  async function start(): Promise<void> {
    running = spawn(workerd, ["serve", "--control-fd=3", "--experimental", join(folder, "config.capnp")], {
      stdio: ["ignore", "ignore", "inherit", "pipe"],
    });
    for await (const line of createInterface(running.stdio[3] as Readable)) {
      const said = JSON.parse(line) as { event: string; port?: number };
      if (said.event !== "listen") continue;
      address = `http://127.0.0.1:${said.port}`;
      return;
    }
    throw new Error("workerd ended before it listened");
  }

  /** Ends it without a word. */
  function kill(): Promise<void> {
    return new Promise((resolve) => {
      if (running.exitCode !== null || running.signalCode !== null) return resolve();
      running.once("exit", () => resolve());
      running.kill("SIGKILL");
    });
  }
}

function configOf(upstream: string, objects: string, flags: readonly string[]): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "proxy", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-10-01",
      compatibilityFlags = ${JSON.stringify(flags)},
      bindings = [
        (name = "UPSTREAM", text = "${upstream}"),
        (name = "GATEWAY_API_KEY", text = "${KEY}"),
        (name = "STREAM_LOG", durableObjectNamespace = "StreamLog"),
        (name = "VIDEO_WATCH", durableObjectNamespace = "VideoWatch"),
      ],
      durableObjectNamespaces = [
        (className = "StreamLog", uniqueKey = "stream-log", enableSql = true),
        (className = "VideoWatch", uniqueKey = "video-watch", enableSql = true),
      ],
      durableObjectStorage = (localDisk = "objects"),
      globalOutbound = "network",
    )),
    (name = "objects", disk = (path = "${objects}", writable = true)),
    (name = "network", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "proxy")],
);`;
}
