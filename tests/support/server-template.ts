import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createClient, streamResumption } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { SignJWT } from "jose";
import { PRODUCTION_KEY } from "./new-app.ts";

/* The server of the Node template in a separate process, which can be killed and restarted. */

const template = join(import.meta.dirname, "../../packages/create-sluice/dist/templates/node");
const binaries = createRequire(join(import.meta.dirname, "../../packages/worker-proxy/package.json"));
const findBinary = (name: string, path: string) => join(binaries.resolve(`${name}/package.json`), path);

const SESSION_SECRET = "a secret of production, of 32 characters";
const METRICS_TOKEN = "a token of the scraper, of 32 characters";

/** Commands that start the template's server, by the runtime. */
export const runtimes = {
  Node: [process.execPath, "server/main.ts"],
  Deno: [findBinary("deno", "../deno"), "run", "-A", "server/main.ts"],
  Bun: [findBinary("bun", "../bin/bun.exe"), "server/main.ts"],
} as const satisfies Record<string, readonly string[]>;

/** A process of the server. */
export interface ServerProcess {
  readonly url: string;
  /** The lines that it has printed. */
  readonly lines: readonly string[];
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit code, null for a process that was killed. */
  readonly ended: Promise<number | null>;
}

/** Copies the template to a folder that resolves the packages of this repository. */
export function copyTemplate() {
  const parent = join(import.meta.dirname, "../.tmp");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "server-"));
  cpSync(template, folder, { recursive: true });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * Starts the server in a folder. Resolves when it prints its address.
 *
 * @throws {Error} with the printed lines, if the process ends before that
 */
export async function startServer(
  folder: string,
  [program, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
): Promise<ServerProcess> {
  const { PATH, HOME } = process.env;
  const child = spawn(program, args, { cwd: folder, env: { PATH, HOME, NO_COLOR: "1", ...env } });
  const lines: string[] = [];
  const ended = once(child, "close").then(([code]) => code as number | null);
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface(stream).on("line", (line) => {
        lines.push(line);
        const [, address] = /^The server listens on (.*)\/api$/.exec(line) ?? [];
        if (address !== undefined) resolve(address);
      });
    void ended.then((code) => reject(new Error(`it ended with ${code}: ${lines.join("\n")}`)));
  });
  return { url, lines, ended, signal: (name) => void child.kill(name) };
}

/** Starts a gateway, and returns the environment of a production server that uses it. */
export async function startScenario() {
  const emulator = createEmulator({ apiKeys: [PRODUCTION_KEY], speed: 50 });
  const gateway = await serve(emulator, { port: 0 });
  const env = {
    NODE_ENV: "production",
    PORT: "0",
    APP_URL: "https://chat.sluice.test",
    GATEWAY_URL: gateway.url,
    GATEWAY_API_KEY: PRODUCTION_KEY,
    SESSION_SECRET,
    PROXY_SECRET: "a secret for ids, of 32 characters and more",
    METRICS_TOKEN,
    OPERATORS: "grace",
  };
  return { emulator, env, close: gateway.close };
}

/**
 * Creates a client of a signed-in user. Each request waits for `target`, and goes to the URL that it resolves to.
 *
 * @param app name of the app, which issues the tokens of its users
 */
export async function createUserClient(user: string, target: () => Promise<string>, app = "sluice-app") {
  const token = new SignJWT({ iss: app, aud: "session", sub: user }).setExpirationTime("1h");
  const secret = new TextEncoder().encode(SESSION_SECRET);
  const authorization = `Bearer ${await token.setProtectedHeader({ alg: "HS256" }).sign(secret)}`;
  const request = async (path: string, init: RequestInit = {}) =>
    fetch((await target()) + path, {
      ...init,
      headers: { authorization, "content-type": "application/json", ...(init.headers as object) },
    });
  const client = createClient({
    baseURL: "http://server.sluice.test/api",
    resume: streamResumption(),
    headers: { authorization },
    async fetch(request) {
      const { pathname } = new URL(request.url);
      return fetch(new Request((await target()) + pathname, request));
    },
  });
  return { client, request };
}

/** Reads the samples of `/metrics`, by name and labels. */
export async function readMetrics(url: string): Promise<Readonly<Record<string, number>>> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
  const samples = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(samples.map((line) => /^(.*) (\S+)$/.exec(line)?.slice(1) ?? [])) as never;
}
