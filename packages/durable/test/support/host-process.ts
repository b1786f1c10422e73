import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { BoundHost } from "@sluice/worker-proxy/plugin";
import { bundle } from "../../../worker-proxy/test/support/bundle.js";
import { linkPostgres } from "./node-program.js";
import { createRemoteHost } from "./served-host.js";

/** A process with a host, which a test can kill. */
export interface HostProcess {
  /** The host of the current process. It stays valid after a restart. */
  readonly host: BoundHost;
  readonly pid: number;
  /** The address at which it serves. */
  readonly address: string;
  /** The lines of its log. */
  readonly logs: readonly string[];
  /** Resolves when the process ends without being killed. */
  ended(): Promise<void>;
  kill(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** A folder with the program of the processes. */
export interface HostProgram {
  readonly folder: string;
  /** Starts a process on a file of this folder or a database. */
  run(target: string, schema?: string, ...more: readonly string[]): Promise<HostProcess>;
  /** Ends all processes. */
  close(): Promise<void>;
}

/** Writes a program of this folder's sources, by default `host-program.ts`. */
export async function createHostProgram(name = "host-program"): Promise<HostProgram> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-host-"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "program.js"), await bundle(`durable/test/fixture/${name}.ts`));
  await linkPostgres(folder);
  const processes: HostProcess[] = [];
  return {
    folder,
    async run(target, schema = "sluice", ...more) {
      const opened = await startProcess(folder, [target, schema, ...more]);
      processes.push(opened);
      return opened;
    },
    async close() {
      await Promise.all(processes.map((each) => each.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startProcess(folder: string, args: readonly string[]): Promise<HostProcess> {
  const logs: string[] = [];
  let child: ChildProcess;
  let address = "";
  await start();
  return {
    host: createRemoteHost(() => address),
    get pid() {
      return child.pid ?? 0;
    },
    get address() {
      return address;
    },
    logs,
    ended: () => waitForEnd(child),
    async kill(signal = "SIGKILL") {
      child.kill(signal);
      if (signal === "SIGKILL" || signal === "SIGTERM") await waitForEnd(child);
    },
    start,
    async close() {
      child.kill("SIGKILL");
      await waitForEnd(child);
    },
  };

  async function start(): Promise<void> {
    child = spawn(process.execPath, ["program.js", ...args], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe", "pipe"],
    });
    createInterface(child.stderr as Readable).on("line", (line) => logs.push(line));
    for await (const line of createInterface(child.stdio[3] as Readable)) {
      const { port } = JSON.parse(line) as { readonly port: number };
      address = `http://127.0.0.1:${port}`;
      return;
    }
    throw new Error(`the process ended before it listened: ${logs.join("\n")}`);
  }
}

function waitForEnd(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once("exit", () => resolve()));
}
