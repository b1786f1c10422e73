import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { bundle } from "../../../worker-proxy/test/support/bundle.js";

const binaries = createRequire(new URL("../../../worker-proxy/package.json", import.meta.url));
const wrangler = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"));
const { default: workerd } = wrangler("workerd") as { default: string };
const binary = (name: string, path: string) => join(binaries.resolve(`${name}/package.json`), path);

/** A command that serves `worker.js` of its folder, and prints `{ "port": 8787 }` to its standard output. */
interface Runtime {
  readonly command: readonly [program: string, ...args: string[]];
  readonly files: Readonly<Record<string, string>>;
}

const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-10-01",
      globalOutbound = "network",
    )),
    (name = "network", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);`;
const program = (serve: string) => `import worker from "./worker.js";
import { writeSync } from "node:fs";
${serve}
writeSync(1, JSON.stringify({ port: server.port ?? server.addr.port }) + "\\n");`;

/** The runtimes that serve a Worker, except Node, which runs the tests. */
export const runtimes = {
  workerd: {
    command: [workerd, "serve", "--control-fd=1", "config.capnp"],
    files: { "config.capnp": config },
  },
  Deno: {
    command: [binary("deno", "../deno"), "run", "--no-prompt", "--allow-net=127.0.0.1", "main.js"],
    files: {
      "main.js": program(
        'const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, worker.fetch);',
      ),
    },
  },
  Bun: {
    command: [binary("bun", "../bin/bun.exe"), "main.js"],
    files: {
      "main.js": program(
        'const server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: worker.fetch });',
      ),
    },
  },
} as const satisfies Record<string, Runtime>;

/** Starts a process of a runtime that serves a fixture: `durable/test/fixture/….ts`, whose default export has a `fetch`. */
export async function startRuntime(name: keyof typeof runtimes, fixture: string) {
  const { command, files } = runtimes[name];
  const folder = await mkdtemp(join(tmpdir(), "sluice-runtime-"));
  const written: Record<string, string> = { ...files, "worker.js": await bundle(fixture) };
  for (const [file, text] of Object.entries(written)) await writeFile(join(folder, file), text);
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const [path, ...args] = command;
  const child = spawn(path, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const exit = once(child, "exit");
  const port = await readPort(child);
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      child.kill("SIGKILL");
      await exit;
      await rm(folder, { recursive: true });
    },
  };
}

/**
 * Reads the port that a runtime prints.
 *
 * @throws {Error} with the lines of its error output, if the runtime ends before it listens
 */
async function readPort(child: ChildProcess): Promise<number> {
  const lines: string[] = [];
  createInterface(child.stderr as Readable).on("line", (line) => lines.push(line));
  for await (const line of createInterface(child.stdout as Readable)) {
    const { port } = JSON.parse(line) as { port?: number };
    if (port !== undefined) return port;
  }
  throw new Error(`the runtime ended before it listened: ${lines.join("\n")}`);
}
