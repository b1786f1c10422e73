import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readOptions } from "./options.ts";

/*
 * Runs the studio as it would be deployed, on this machine: the built page and the proxy in workerd (wrangler), in
 * front of the emulator. Prints one URL. Ctrl-C stops everything.
 */

const root = join(import.meta.dirname, "..");
const { values } = readOptions({
  options: {
    port: { type: "string", default: "8787" },
    "no-build": { type: "boolean", default: false },
    // speed of the gateway's emulator
    speed: { type: "string", default: "1" },
  },
});

if (!values["no-build"]) build();
const key = `sk-demo-${randomBytes(12).toString("hex")}`;
let worker: ChildProcess | undefined;
let gateway: Awaited<ReturnType<typeof startGateway>> | undefined;
let isStopping = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void stop(0));
// the page, the secrets and the Worker's storage belong to this run only, so that several demos can run
const folder = mkdtempSync(join(tmpdir(), "sluice-demo-"));
process.on("exit", () => {
  signalGroup(worker, "SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});
// a copy of the page: wrangler exits when a build empties the folder that it serves
const page = join(folder, "page");
cpSync(join(root, "examples/studio/dist"), page, { recursive: true });
gateway = await startGateway();
const port = await findFreePort(Number(values.port));
const address = `http://127.0.0.1:${port}`;
worker = startWorker(gateway.url);
const log = collectLog(worker);
worker.on("exit", (code) => {
  if (!isStopping) fail(`The Worker ended with ${code}:\n${log()}`);
});
await waitForServer(address);
console.log(`
  Sluice studio   ${address}

  The page, the Worker that adds the key and the gateway's emulator all run on this machine: nothing is billed.
  Press Ctrl-C to stop.
`);

function build(): void {
  console.log("Building the packages and the page …");
  const { error, status, stdout, stderr } = spawnSync("pnpm", ["run", "build"], {
    cwd: root,
    encoding: "utf8",
  });
  if (error) fail(`pnpm is not there (${error.message}): start this with npx -y pnpm@12.21.0 demo`);
  if (status !== 0) fail(`pnpm run build failed:\n${stdout}${stderr}`);
}

async function startGateway(): Promise<{ url: string; close(): Promise<void> }> {
  const { createEmulator } = await import("@sluice/emulator");
  const { serve } = await import("@sluice/emulator/serve");
  const { createDemoScript } = await import("../examples/studio/demo/script.ts");
  const { landscapes } = await import("../examples/studio/demo/media/media.ts");
  const options = {
    apiKeys: [key],
    cors: true,
    speed: Number(values.speed),
    // a demo should not take two minutes
    durations: { imageMs: 3000, videoMs: 12_000 },
    chat: createDemoScript(),
    media: landscapes,
    // the demo needs no network: accept external URLs without fetching them
    fetchMedia: (url: string) => (/^http:\/\/127\.0\.0\.1[:/]/.test(url) ? fetch(url) : undefined),
  };
  return serve(createEmulator(options), { port: 0 });
}

function startWorker(gatewayURL: string): ChildProcess {
  const args = [
    "dev",
    "--ip",
    "127.0.0.1",
    "--port",
    String(port),
    "--inspector-port",
    "0",
    "--persist-to",
    folder,
    "--assets",
    page,
    "--env-file",
    writeVariables(gatewayURL),
  ];
  return spawn("wrangler", [...args, "--show-interactive-dev-session=false"], {
    cwd: join(root, "examples/studio"),
    // a separate process group: wrangler starts workerd, and both must stop
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" },
  });
}

/** Writes the Worker's variables to a file: all users of a machine can read the command line of a process. */
function writeVariables(gatewayURL: string): string {
  const variables = {
    GATEWAY_URL: gatewayURL,
    GATEWAY_API_KEY: key,
    FILES_SECRET: randomBytes(24).toString("hex"),
    ORIGINS: `${address} http://localhost:${port}`,
  };
  const file = join(folder, "worker.env");
  const lines = Object.entries(variables).map(([name, value]) => `${name}="${value}"\n`);
  writeFileSync(file, lines.join(""), { mode: 0o600 });
  return file;
}

/** Returns a function that returns the last output of a child process. */
function collectLog({ stdout, stderr }: ChildProcess): () => string {
  let text = "";
  for (const stream of [stdout, stderr])
    stream?.on("data", (piece) => {
      text = (text + piece).slice(-4000).replaceAll(key, "[key]");
    });
  return () => text;
}

async function waitForServer(url: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      // the server does not listen yet
    }
    if (Date.now() > deadline) fail(`The Worker does not respond at ${url}:\n${log()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Returns `wanted`, or a free port if another process listens there. */
async function findFreePort(wanted: number): Promise<number> {
  const free = (await tryPort(wanted)) ?? (await tryPort(0));
  if (free === undefined) return fail("No free port on 127.0.0.1");
  if (wanted !== 0 && free !== wanted) console.log(`Port ${wanted} is taken: using ${free} instead.`);
  return free;
}

function tryPort(wanted: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(wanted, "127.0.0.1", () => {
      const { port: free } = server.address() as { port: number };
      server.close(() => resolve(free));
    });
  });
}

async function stop(code: number): Promise<never> {
  if (!isStopping) {
    isStopping = true;
    console.log("\nStopping …");
    signalGroup(worker, "SIGTERM");
    await Promise.all([waitForGroupEnd(worker, 3000), gateway?.close()]);
  }
  process.exit(code);
}

/** Resolves when a child and its descendants have ended, or after `ms`. */
async function waitForGroupEnd(child: ChildProcess | undefined, ms: number): Promise<void> {
  const deadline = Date.now() + ms;
  while (signalGroup(child, 0) && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Signals a child and its descendants. Returns false if none of them runs. */
function signalGroup(child: ChildProcess | undefined, signal: NodeJS.Signals | 0): boolean {
  const pid = child?.pid;
  try {
    return pid !== undefined && process.kill(-pid, signal);
  } catch {
    return false;
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
