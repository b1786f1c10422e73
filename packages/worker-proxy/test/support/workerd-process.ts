import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

const wrangler = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"));
const { default: workerd } = wrangler("workerd") as { default: string };

interface Program {
  /** The Worker as one module. */
  readonly code: string;
  readonly texts?: Readonly<Record<string, string>>;
  /** Bindings with JSON values. */
  readonly values?: Readonly<Record<string, object>>;
  /** Bindings to Durable Objects, with the names of their classes. */
  readonly objects?: Readonly<Record<string, string>>;
  /** The largest heap of the isolate, in megabytes; Cloudflare's has 128. */
  readonly heapMB?: number | undefined;
  /** True if the test reads `usedHeap`. */
  readonly isInspected?: boolean;
}

/** Starts a Worker in a separate workerd: it has its own sockets, and its memory can be limited. */
export async function startWorkerd(program: Program) {
  const folder = await mkdtemp(join(tmpdir(), "sluice-workerd-"));
  await mkdir(join(folder, "objects"));
  await writeFile(join(folder, "worker.js"), program.code);
  await writeFile(join(folder, "config.capnp"), createConfig(folder, program));
  const inspector = program.isInspected ? ["--inspector-addr=127.0.0.1:0"] : [];
  const args = ["serve", "--control-fd=3", "--experimental", ...inspector, join(folder, "config.capnp")];
  const running = spawn(workerd, args, { stdio: ["ignore", "pipe", "pipe", "pipe"] });
  const ended = new Promise<void>((resolve) => running.once("exit", () => resolve()));
  const logs: string[] = [];
  let logged = () => {};
  for (const output of [running.stdout, running.stderr])
    createInterface(output as Readable).on("line", (line) => {
      logs.push(line);
      logged();
    });
  const ports = await readPorts(running).catch(() => {
    throw new Error(`workerd did not start: ${logs.join("\n")}`);
  });
  return {
    port: ports.listen,
    /** Bytes that the Worker's objects take in the heap, after a garbage collection. Needs `isInspected`. */
    usedHeap: () => usedHeap(ports.inspector, ports.listen),
    pid: running.pid as number,
    /** Folder for the storage of the objects. */
    folder: join(folder, "objects"),
    /** The lines that the Worker has logged. */
    logs,
    /** Waits until a line of the log is like this. */
    async loggedLine(like: RegExp): Promise<string> {
      for (;;) {
        const line = logs.find((one) => like.test(one));
        if (line !== undefined) return line;
        await new Promise<void>((resolve) => {
          logged = resolve;
        });
      }
    },
    isAlive: () => running.exitCode === null && running.signalCode === null,
    async close() {
      running.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

/** Waits for the ports of workerd and of its inspector. workerd prints that of the inspector first. */
async function readPorts(running: ChildProcess): Promise<{ listen: number; inspector: number }> {
  let inspector = 0;
  for await (const line of createInterface(running.stdio[3] as Readable)) {
    const message = JSON.parse(line) as { event: string; port?: number };
    if (message.event === "listen-inspector" && message.port) inspector = message.port;
    if (message.event === "listen" && message.port) return { listen: message.port, inspector };
  }
  throw new Error("ended before it listened");
}

async function usedHeap(port: number, worker: number): Promise<number> {
  const targets = await fetch(`http://127.0.0.1:${port}/json`);
  const [target] = (await targets.json()) as { webSocketDebuggerUrl: string }[];
  if (!target) throw new Error("the inspector knows no Worker");
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  try {
    await command("HeapProfiler.collectGarbage");
    return (await command("Runtime.getHeapUsage")).usedSize;
  } finally {
    socket.close();
  }

  function command(method: string): Promise<{ usedSize: number }> {
    // an idle Worker responds to its inspector only during a request, and may be idle before the command arrives
    const waking = setInterval(wake, 100);
    return new Promise<{ usedSize: number }>((resolve, reject) => {
      socket.onmessage = ({ data }) => {
        const { id, result } = JSON.parse(String(data));
        if (id === method.length) resolve(result);
      };
      socket.onclose = () => reject(new Error("the inspector is closed"));
      socket.send(JSON.stringify({ id: method.length, method }));
    }).finally(() => clearInterval(waking));
  }

  function wake(): void {
    void fetch(`http://127.0.0.1:${worker}/`).then(
      (response) => response.body?.cancel(),
      () => {},
    );
  }
}

function createConfig(folder: string, { texts = {}, values = {}, objects = {}, heapMB }: Program): string {
  const quoted = (text: string) => JSON.stringify(text);
  const bindings = [
    ...Object.entries(texts).map(([name, text]) => `(name = "${name}", text = ${quoted(text)})`),
    ...Object.entries(values).map(
      ([name, value]) => `(name = "${name}", json = ${quoted(JSON.stringify(value))})`,
    ),
    ...Object.entries(objects).map(
      ([name, kind]) => `(name = "${name}", durableObjectNamespace = "${kind}")`,
    ),
  ];
  const kinds = Object.values(objects).map(
    (kind) => `(className = "${kind}", uniqueKey = "${kind}", enableSql = true)`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "worker", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-10-01",
      compatibilityFlags = ["enable_request_signal"],
      bindings = [${bindings.join(", ")}],
      durableObjectNamespaces = [${kinds.join(", ")}],
      durableObjectStorage = (localDisk = "objects"),
      globalOutbound = "network",
    )),
    (name = "objects", disk = (path = "${folder}/objects", writable = true)),
    (name = "network", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "worker")],
  ${heapMB === undefined ? "" : `v8Flags = ["--max-old-space-size=${heapMB}"],`}
);`;
}
