import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { bundle } from "../../../worker-proxy/test/support/bundle.js";
import { KEY } from "../../../worker-proxy/test/support/key.js";
import { startUpstream } from "../../../worker-proxy/test/support/upstream.js";
import { expireOwners } from "./database-file.js";

const wrangler = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"));
const { default: workerd } = wrangler("workerd") as { default: string };

/**
 * Starts a Worker in a process with its storage on disk, and a gateway for it. A test kills the process, and starts it
 * again.
 */
export async function startDurableProxy({
  flags = ["enable_request_signal"],
  fixture = "durable/test/fixture/durable-proxy.ts",
  texts = {},
  objects: classes = { SLUICE: "Sluice" },
}: DurableProxy = {}) {
  const upstream = await startUpstream();
  const folder = await mkdtemp(join(tmpdir(), "sluice-durable-"));
  const objects = join(folder, "objects");
  await mkdir(objects);
  const code = await bundle(fixture);
  await writeFile(join(folder, "worker.js"), code);
  const bindings = { UPSTREAM: upstream.url, GATEWAY_API_KEY: KEY, ...texts };
  await writeFile(join(folder, "config.capnp"), createConfig(bindings, classes, objects, flags));
  const logs: string[] = [];
  let running: ChildProcess;
  let address = "";
  await start();

  return {
    upstream,
    /** The lines that the Worker has logged as errors. */
    logs,
    get address() {
      return address;
    },
    /** A request of a signed-in user. */
    request: (path: string, init: RequestInit = {}) =>
      fetch(address + path, {
        ...init,
        headers: { authorization: "user-1", "content-type": "application/json", ...(init.headers as object) },
      }),
    kill,
    start,
    expireOwners: () => expireOwners(objects),
    /** Suspends the process until `resume`. Requests wait in its sockets. */
    pause: () => void running.kill("SIGSTOP"),
    resume: () => void running.kill("SIGCONT"),
    /** Ends workerd and the gateway, and deletes the stored data. */
    async close() {
      await end(running);
      upstream.close();
      await rm(folder, { recursive: true });
    },
  };

  /** Starts it again, over the same storage and at another address. */
  async function start(): Promise<void> {
    ({ program: running, address } = await run());
  }

  async function run(): Promise<{ program: ChildProcess; address: string }> {
    const args = ["serve", "--control-fd=3", "--experimental", join(folder, "config.capnp")];
    const program = spawn(workerd, args, { stdio: ["ignore", "ignore", "pipe", "pipe"], cwd: folder });
    createInterface(program.stderr as Readable).on("line", (line) => logs.push(line));
    for await (const line of createInterface(program.stdio[3] as Readable)) {
      const message = JSON.parse(line) as { event: string; port?: number };
      if (message.event !== "listen") continue;
      return { program, address: `http://127.0.0.1:${message.port}` };
    }
    throw new Error(`workerd ended before it listened: ${logs.join("\n")}`);
  }

  /** Ends it without a word. */
  function kill(): Promise<void> {
    return end(running);
  }
}

function end(program: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (program.exitCode !== null || program.signalCode !== null) return resolve();
    program.once("exit", () => resolve());
    program.kill("SIGKILL");
  });
}

/** Options of {@link startDurableProxy}. */
interface DurableProxy {
  readonly flags?: readonly string[];
  /** The Worker, of this folder's fixtures. */
  readonly fixture?: string;
  /** Bindings whose values are texts. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Bindings to Durable Objects, with the names of their classes. */
  readonly objects?: Readonly<Record<string, string>>;
}

function createConfig(
  texts: Readonly<Record<string, string>>,
  classes: Readonly<Record<string, string>>,
  objects: string,
  flags: readonly string[],
): string {
  const bindings = [
    ...Object.entries(texts).map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`),
    ...Object.entries(classes).map(
      ([name, kind]) => `(name = "${name}", durableObjectNamespace = "${kind}")`,
    ),
  ];
  const kinds = Object.values(classes).map(
    (kind) => `(className = "${kind}", uniqueKey = "${kind}", enableSql = true)`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "proxy", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-10-01",
      compatibilityFlags = ${JSON.stringify(flags)},
      bindings = [${bindings.join(", ")}],
      durableObjectNamespaces = [${kinds.join(", ")}],
      durableObjectStorage = (localDisk = "objects"),
      globalOutbound = "network",
    )),
    (name = "objects", disk = (path = "${objects}", writable = true)),
    (name = "network", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "proxy")],
);`;
}
