import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { request as requestHTTP } from "node:http";
import { createServer, type Server } from "node:https";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { pack, pnpm } from "../../scripts/tarballs.ts";

/*
 * Apps that the built `create-sluice` makes, with the packed packages, as a user would get them from the registry: for the
 * tests, and for the table of first steps.
 */

const root = fileURLToPath(new URL("../../", import.meta.url));
const command = join(root, "packages/create-sluice/dist/cli.js");
const deno = createRequire(join(root, "packages/worker-proxy/package.json")).resolve("deno/package.json");
const { NODE_ENV: _, VITEST: __, ...own } = process.env;
/** Environment of a user's shell: in a test, tools behave in another way. */
const shell: NodeJS.ProcessEnv = {
  ...own,
  PATH: [dirname(process.execPath), dirname(deno), own["PATH"]].join(":"),
  NO_COLOR: "1",
  NEXT_TELEMETRY_DISABLED: "1",
  WRANGLER_SEND_METRICS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
};

/** A key that a gateway could have: the checklist refuses the emulator's usual ones. */
export const PRODUCTION_KEY = "sk-live-0123456789abcdef";

/** File with a key and its certificate for localhost. */
export const LOCALHOST = join(import.meta.dirname, "localhost.pem");
/** Options of a server with https. */
export const localhost = { key: readFileSync(LOCALHOST), cert: readFileSync(LOCALHOST) };

/** A process of an app: its URL, and how to end it with its descendants. */
export interface Started {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** Opens a folder for new apps. */
export function openWorkshop() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sluice-apps-")));
  const stops = new Set<() => Promise<void>>();
  let tarballs: ReadonlyMap<string, string> | undefined;
  return {
    pack: packOnce,
    read,
    write,
    create,
    run,
    attempt,
    install,
    installWorkspace,
    start,
    deploy,
    close,
  };

  /** Packs the packages, once. */
  function packOnce(): ReadonlyMap<string, string> {
    tarballs ??= pack(folder);
    return tarballs;
  }

  function toPath(...names: readonly string[]): string {
    return join(folder, ...names);
  }

  function read(...names: readonly string[]): string {
    return readFileSync(toPath(...names), "utf8");
  }

  function write(name: string, text: string): void {
    writeFileSync(toPath(name), text);
  }

  /** Runs `npm create sluice` in the folder, or in one of its apps. Returns the output. */
  function create(args: readonly string[], app = ""): string {
    return execFileSync(process.execPath, [command, ...args], {
      cwd: toPath(app),
      env: shell,
      encoding: "utf8",
      stdio: "pipe",
    });
  }

  /** Runs a command in an app to its end. Resolves with the exit code and the output. */
  async function attempt(app: string, line: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const [name = "", ...args] = line;
    const child = spawn(name, args, { cwd: toPath(app), env: { ...shell, ...env } });
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => (printed += piece));
    const [status] = await once(child, "close");
    return { status: status as number | null, printed };
  }

  /** Runs a command in an app, and resolves with the output. Rejects with the output if it fails. */
  async function run(app: string, line: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const { status, printed } = await attempt(app, line, env);
    if (status !== 0) throw new Error(`${line.join(" ")} ended with ${status}\n${printed.slice(-4000)}`);
    return printed;
  }

  /** Installs an app; its packages of this repository are the packed ones. */
  async function install(app: string): Promise<void> {
    const ours = Object.fromEntries([...packOnce()].map(([name, at]) => [name, `file:${at}`]));
    const manifest = JSON.parse(read(app, "package.json"));
    for (const list of [manifest.dependencies, manifest.devDependencies])
      for (const name of Object.keys(list)) list[name] = ours[name] ?? list[name];
    const { "create-sluice": ___, ...overrides } = ours;
    write(`${app}/package.json`, JSON.stringify({ ...manifest, overrides }, undefined, 2));
    await run(app, ["npm", "install", "--prefer-offline", "--no-audit", "--no-fund"]);
  }

  /** Installs all apps of a workspace with pnpm; its packages of this repository are the packed ones. */
  async function installWorkspace(workspace: string): Promise<void> {
    const ours = [...packOnce()].map(([name, at]) => `  "${name}": "file:${at}"\n`);
    const list = `${workspace}/pnpm-workspace.yaml`;
    write(list, `${read(list)}overrides:\n${ours.join("")}`);
    await run(workspace, ["npx", "-y", pnpm, "install", "--prefer-offline", "--no-frozen-lockfile"]);
  }

  /** Starts a command in an app, and waits for the address that it prints. */
  function start(app: string, line: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Started> {
    const [name = "", ...args] = line;
    const child = spawn(name, args, { cwd: toPath(app), env: { ...shell, ...env }, detached: true });
    const stop = () => waitForEnd(child);
    stops.add(stop);
    let printed = "";
    return new Promise((resolve, reject) => {
      child.once("close", () => reject(new Error(`${line.join(" ")} ended:\n${printed}`)));
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (piece) => {
          printed += piece;
          // the emulator's line is not the app's
          const lines = printed.split("\n").filter((each) => !each.includes("is the gateway"));
          const [url] = /http:\/\/(?:127\.0\.0\.1|localhost):\d+/.exec(lines.join("\n")) ?? [];
          if (url !== undefined) resolve({ url, stop });
        });
    });
  }

  /**
   * Runs an app's production server behind https, with the gateway that `.env.production.local` would lead to on this
   * machine. `launch` gets the environment of that server.
   */
  async function deploy(launch: (env: NodeJS.ProcessEnv) => Promise<Started>): Promise<Started> {
    const gateway = await serve(createEmulator({ apiKeys: [PRODUCTION_KEY] }), { port: 0 });
    let target = "";
    const front = await openFront(() => target);
    const url = `https://localhost:${(front.address() as AddressInfo).port}`;
    const stopHere = async () => {
      front.closeAllConnections();
      await Promise.all([new Promise((resolve) => front.close(resolve)), gateway.close()]);
    };
    stops.add(stopHere);
    // the checklist accepts the URL of the file; the server's gateway is the emulator
    const started = await launch({ GATEWAY_URL: gateway.url, APP_URL: url });
    target = started.url;
    return { url, stop: async () => void (await Promise.all([started.stop(), stopHere()])) };
  }

  async function close(): Promise<void> {
    await Promise.all([...stops].map((stop) => stop().catch(() => {})));
    rmSync(folder, { recursive: true, force: true });
  }
}

export type Workshop = ReturnType<typeof openWorkshop>;

/** Ends a command and all that it started. */
async function waitForEnd(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const closed = once(child, "close");
  process.kill(-child.pid, "SIGKILL");
  await closed;
}

/** A server with https in front of another one, as a host of production has it. */
async function openFront(target: () => string): Promise<Server> {
  const front = createServer(localhost, (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const passed = requestHTTP(`${target()}${url}`, { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  return front;
}
