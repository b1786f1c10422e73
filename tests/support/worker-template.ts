import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expectNoKey, read } from "../../packages/worker-proxy/test/support/key.ts";
import { startMiniflare } from "../../packages/worker-proxy/test/support/miniflare.ts";

const root = new URL("../..", import.meta.url).pathname;
export const template = join(root, "examples/worker");
const run = promisify(execFile);

/** What is used here of wrangler, which has no types without those of Node's whole network stack. */
interface Config extends Record<string, unknown> {
  readonly compatibility_date: string;
  readonly compatibility_flags: readonly string[];
  readonly vars: Record<string, string>;
  readonly ratelimits: readonly { readonly name: string }[];
  readonly durable_objects: {
    readonly bindings: readonly { readonly name: string; readonly class_name: string }[];
  };
  readonly migrations: readonly { readonly new_sqlite_classes?: readonly string[] }[];
}
const require = createRequire(import.meta.url);
const { unstable_readConfig: readConfig } = require("wrangler") as {
  unstable_readConfig(from: { config: string }): Config;
};
/** One of the template's configurations, as wrangler reads it. */
export const configOf = (name: string) => readConfig({ config: join(template, name) });

export type Bundle = Awaited<ReturnType<typeof bundleTemplate>>;

/** What `wrangler deploy` would upload, made of the packages' sources. */
export async function bundleTemplate(config: string) {
  const folder = await mkdtemp(join(tmpdir(), "sluice-template-"));
  const source = (path: string) => [join(root, "packages/worker-proxy/src", path)];
  const paths = {
    "@sluice/core/sse": [join(root, "packages/core/src/sse.ts")],
    "@sluice/worker-proxy": source("index.ts"),
    "@sluice/worker-proxy/auth": source("auth/index.ts"),
    "@sluice/worker-proxy/durable": source("durable/index.ts"),
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
  const main = config.includes("durable") ? "durable-worker.js" : "worker.js";
  const code = await readFile(join(folder, main), "utf8");
  await rm(folder, { recursive: true });
  return { config: configOf(config), code, printed: stdout + stderr };
}

export type Running = Awaited<ReturnType<typeof startTemplate>>;

/** Runs a bundle in workerd as its configuration says, with these variables and secrets, and no others. */
export async function startTemplate(
  { config, code }: Bundle,
  given: Record<string, string>,
  /** Bindings of the configuration that are missing. */
  without: readonly string[] = [],
) {
  const logs: string[] = [];
  const sqlite = config.migrations.flatMap(({ new_sqlite_classes = [] }) => new_sqlite_classes);
  const miniflare = startMiniflare({
    handleStructuredLogs: ({ message }: { message: string }) => logs.push(message),
    modules: [{ type: "ESModule", path: "worker.js", contents: code }],
    compatibilityDate: config.compatibility_date,
    compatibilityFlags: config.compatibility_flags,
    bindings: { ...config.vars, ...given },
    ratelimits: Object.fromEntries(
      config.ratelimits.filter(isThere).map((limiter) => [limiter.name, limiter]),
    ),
    durableObjects: Object.fromEntries(
      config.durable_objects.bindings
        .filter(isThere)
        .map(({ name, class_name: className }) => [
          name,
          { className, useSQLite: sqlite.includes(className) },
        ]),
    ),
  });
  const address = (await miniflare.ready).origin;
  function isThere({ name }: { readonly name: string }): boolean {
    return !without.includes(name);
  }
  return {
    address,
    logs,
    /** Asks with a token, or without one; what comes back has no part of the key in it. */
    async ask(
      token: string | undefined,
      path: string,
      body?: object | string,
      more: Record<string, string> = {},
    ) {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const headers = { "content-type": "application/json", ...authorization, ...more };
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const sent = body ? { method: "POST", body: text } : {};
      return read(await fetch(address + path, { headers, ...sent }));
    },
    close() {
      expectNoKey(logs.join("\n"));
      return miniflare.dispose();
    },
  };
}

/** A token as the template's own script makes it. */
export async function tokenOf(user: string, secret: string): Promise<string> {
  const args = [join(template, "scripts/token.ts"), user];
  const { stdout } = await run(process.execPath, args, { env: { JWT_SECRET: secret } });
  return stdout.trim();
}
