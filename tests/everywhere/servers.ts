import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { build } from "vite";

/*
 * The servers that the behaviours run against, from the installed packages: the gateway in a process of Node, and the
 * proxy in workerd, where the behaviours run as well.
 */

const { default: workerd } = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"))(
  "workerd",
) as { default: string };
const COMPATIBILITY_DATE = "2026-10-01";

/** The addresses of a run. */
export interface Servers {
  readonly gateway: string;
  /** The proxy, in front of the gateway. */
  readonly proxy: string;
  /** The Worker that runs the behaviours. */
  readonly worker: string;
  readonly close: () => void;
}

/** Starts the servers of a project. The proxy accepts requests of `pageOrigin`. */
export async function startServers(folder: string, pageOrigin: string): Promise<Servers> {
  const gatewayProcess = spawn(process.execPath, ["gateway.js"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const gateway = await firstLine(gatewayProcess);
    const { child, ports } = await startWorkerd(folder, { GATEWAY_URL: gateway, PAGE_ORIGIN: pageOrigin });
    const findAddress = (name: string) => `http://127.0.0.1:${ports.get(name)}`;
    return {
      gateway,
      proxy: findAddress("proxy"),
      worker: findAddress("worker"),
      close() {
        gatewayProcess.kill();
        child.kill();
      },
    };
  } catch (error) {
    // a process that is left over keeps this one alive
    gatewayProcess.kill();
    throw error;
  }
}

async function startWorkerd(folder: string, variables: Readonly<Record<string, string>>) {
  const workerdFolder = join(folder, "workerd");
  mkdirSync(workerdFolder, { recursive: true });
  const names = ["proxy", "worker"];
  for (const name of names) await bundleWorker(folder, name, workerdFolder);
  writeFileSync(join(workerdFolder, "config.capnp"), createConfig(names, variables));
  const child = spawn(
    workerd,
    ["serve", "--control-fd=3", "--experimental", join(workerdFolder, "config.capnp")],
    {
      stdio: ["ignore", "ignore", "inherit", "pipe"],
    },
  );
  const ports = new Map<string, number>();
  for await (const line of createInterface(child.stdio[3] as Readable)) {
    const { event, socket, port } = JSON.parse(line);
    if (event === "listen") ports.set(socket, port);
    if (ports.size === names.length) break;
  }
  if (ports.size < names.length) throw new Error("workerd ended before it listened");
  return { child, ports };
}

/** Bundles one of the project's Workers into one module. */
async function bundleWorker(folder: string, name: string, outDir: string): Promise<void> {
  await build({
    configFile: false,
    logLevel: "error",
    root: folder,
    resolve: { conditions: ["workerd", "worker", "import"] },
    build: {
      outDir,
      emptyOutDir: false,
      minify: false,
      lib: { entry: join(folder, `${name}.js`), formats: ["es"], fileName: () => `${name}.js` },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
}

function createConfig(names: readonly string[], variables: Readonly<Record<string, string>>): string {
  const bindings = Object.entries(variables).map(([name, text]) => `(name = "${name}", text = "${text}")`);
  const services = names.map(
    (name) => `    (name = "${name}", worker = (
      modules = [(name = "${name}.js", esModule = embed "${name}.js")],
      compatibilityDate = "${COMPATIBILITY_DATE}",
      compatibilityFlags = ["enable_request_signal"],
      bindings = [${bindings.join(", ")}],
      globalOutbound = "network",
    )),`,
  );
  const sockets = names.map(
    (name) => `    (name = "${name}", address = "127.0.0.1:0", http = (), service = "${name}"),`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
${services.join("\n")}
    (name = "network", network = (allow = ["public", "private"])),
  ],
  sockets = [
${sockets.join("\n")}
  ],
);
`;
}

async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface(child.stdout as Readable)) return line;
  throw new Error(`${child.spawnargs.join(" ")} ended without a line`);
}
