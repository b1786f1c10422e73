import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { secretToken } from "../../packages/worker-proxy/test/support/auth-issuer.ts";
import { expectNoKey, read } from "../../packages/worker-proxy/test/support/key.ts";
import { startMiniflare } from "../../packages/worker-proxy/test/support/miniflare.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const template = join(root, "examples/worker");
const run = promisify(execFile);

/** The fields of wrangler's configuration that these tests use. Wrangler's own types need the types of Node's network stack. */
interface Config extends Record<string, unknown> {
  readonly main: string;
  readonly compatibility_date: string;
  readonly compatibility_flags: readonly string[];
  readonly vars: Record<string, string>;
  readonly ratelimits: readonly { readonly name: string; readonly namespace_id: string }[];
  readonly durable_objects: {
    readonly bindings: readonly {
      readonly name: string;
      readonly class_name: string;
      readonly script_name?: string;
    }[];
  };
  readonly migrations: readonly { readonly new_sqlite_classes?: readonly string[] }[];
}
const require = createRequire(import.meta.url);
const { unstable_readConfig: readConfig } = require("wrangler") as {
  unstable_readConfig(from: { config: string }): Config;
};
/** One of the template's configurations, as wrangler reads it. */
export const loadConfig = (name: string) => readConfig({ config: join(template, name) });

export type Bundle = Awaited<ReturnType<typeof makeBundle>>;

const bundles = new Map<string, Promise<Bundle>>();

/** Files that `wrangler deploy` would upload, from the packages' sources; built once for each test worker. */
export function bundleTemplate(config: string): Promise<Bundle> {
  const bundle = bundles.get(config) ?? makeBundle(config);
  bundles.set(config, bundle);
  return bundle;
}

async function makeBundle(config: string) {
  const folder = await mkdtemp(join(tmpdir(), "sluice-template-"));
  const toSource = (path: string) => [join(root, "packages", path)];
  const paths = {
    "@sluice/core/sse": toSource("core/src/entries/sse.ts"),
    "@sluice/worker-proxy": toSource("worker-proxy/src/index.ts"),
    "@sluice/worker-proxy/auth": toSource("worker-proxy/src/auth/index.ts"),
    "@sluice/worker-proxy/plugin": toSource("worker-proxy/src/plugin.ts"),
    "@sluice/durable": toSource("durable/src/index.ts"),
  };
  const tsconfig = join(folder, "tsconfig.json");
  await writeFile(tsconfig, JSON.stringify({ compilerOptions: { paths } }));
  const args = ["deploy", "--dry-run", "--config", config, "--tsconfig", tsconfig, "--outdir", folder];
  const { stdout, stderr } = await run(join(root, "node_modules/.bin/wrangler"), args, {
    cwd: template,
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      WRANGLER_SEND_METRICS: "false",
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
    },
  });
  const main = `${basename(loadConfig(config).main, ".ts")}.js`;
  const code = await readFile(join(folder, main), "utf8");
  await rm(folder, { recursive: true });
  return { config: loadConfig(config), code, printed: stdout + stderr };
}

export type Running = Awaited<ReturnType<typeof startTemplates>>[number];

/** Variables, secrets and missing bindings of one Worker. */
export interface Deployment {
  readonly given: Record<string, string>;
  /** Bindings of the configuration that are missing. */
  readonly without?: readonly string[];
}

/** Runs one Worker of the bundle for each deployment, all in one workerd. Closing the first closes all. */
export async function startTemplates({ config, code }: Bundle, deployments: readonly Deployment[]) {
  const logs: string[][] = deployments.map(() => []);
  const sqlite = config.migrations.flatMap(({ new_sqlite_classes = [] }) => new_sqlite_classes);
  const miniflare = startMiniflare({
    handleStructuredLogs({ message }: { message: string }) {
      const [, index = "0", line = message] = /^(\d+) (.*)$/s.exec(message) ?? [];
      logs[Number(index)]?.push(line);
    },
    workers: deployments.map(createWorker),
  });
  await miniflare.ready;
  return Promise.all(
    deployments.map(async (_, index) => {
      const address = (await miniflare.unsafeGetDirectURL(`${index}`)).origin;
      return { address, logs: logs[index] ?? [], request: requestAt(address), close };
    }),
  );

  function createWorker({ given, without = [] }: Deployment, index: number) {
    const isThere = ({ name }: { readonly name: string }) => !without.includes(name);
    const { ratelimits, durable_objects: objects } = config;
    return {
      name: `${index}`,
      // each line names the Worker that wrote it
      modules: [{ type: "ESModule", path: "worker.js", contents: `${code}\n${numberLines(index)}` }],
      compatibilityDate: config.compatibility_date,
      compatibilityFlags: config.compatibility_flags,
      bindings: { ...config.vars, ...given },
      ratelimits: Object.fromEntries(
        ratelimits
          .filter(isThere)
          .map((limiter) => [limiter.name, { ...limiter, namespace_id: `${index}-${limiter.namespace_id}` }]),
      ),
      durableObjects: Object.fromEntries(
        objects.bindings
          .filter(isThere)
          .map(({ name, class_name: className }) => [
            name,
            { className, useSQLite: sqlite.includes(className) },
          ]),
      ),
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    };
  }

  function close(): Promise<void> {
    expectNoKey(logs.flat().join("\n"));
    return miniflare.dispose();
  }
}

function numberLines(index: number): string {
  return `for (const level of ["log", "warn", "error"]) console[level] = console[level].bind(console, "${index}");`;
}

/** Sends a request with or without a token, and checks that the response contains no part of the key. */
function requestAt(address: string) {
  return async (
    token: string | undefined,
    path: string,
    body?: object | string,
    more: Record<string, string> = {},
  ) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { "content-type": "application/json", ...authorization, ...more };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const sent = body ? { method: "POST", body: text } : {};
    return read(await fetch(address + path, { headers, ...sent }));
  };
}

/** Token of a user as an app's server signs it with the secret that it shares with the Worker. */
export function createToken(user: string, secret: string): Promise<string> {
  return secretToken(secret, { iss: "https://app.example.com", aud: "gateway-proxy", sub: user });
}

/** A token as the template's own script makes it. */
export async function runTokenScript(user: string, secret: string): Promise<string> {
  const args = [join(template, "scripts/token.ts"), user];
  const { stdout } = await run(process.execPath, args, { env: { JWT_SECRET: secret } });
  return stdout.trim();
}
