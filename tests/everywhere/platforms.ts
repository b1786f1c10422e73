import { execFile, execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Browser, browsers, withPage } from "./browsers.ts";
import { nextPlatforms } from "./next.ts";
import type { Pages } from "./pages.ts";
import type { Servers } from "./servers.ts";

/*
 * The platforms that run the behaviours. A platform that the machine lacks has no version, and names what it needs.
 */

/** Results of the behaviours; one with a problem failed. */
export type Report = readonly { readonly name: string; readonly problem?: string }[];

/** The project and the servers of a run. */
export interface Setup {
  readonly folder: string;
  readonly servers: Servers;
  readonly pages: Pages;
}

export interface Platform {
  readonly name: string;
  /** How the packages were installed, or the server in between. */
  readonly how: string;
  readonly needs: string;
  readonly version: () => string | undefined;
  /** True where nothing stops the gateway while the reader pauses. @default false */
  readonly readsAhead?: boolean | undefined;
  /** True where the report has the hooks, too. @default false */
  readonly hasHooks?: boolean;
  readonly run: (setup: Setup) => Promise<Report>;
}

const run = promisify(execFile);
const tools = createRequire(join(import.meta.dirname, "tools/package.json"));
const proxied = createRequire(join(import.meta.dirname, "../../packages/worker-proxy/package.json"));
const tests = createRequire(join(import.meta.dirname, "../package.json"));

const deno = () => join(proxied.resolve("deno/package.json"), "../deno");
const bun = () => join(proxied.resolve("bun/package.json"), "../bin/bun.exe");
const node22 = () => join(tests.resolve("node-22/package.json"), "../bin/node");
const node26 = () => join(tools.resolve("node-26/package.json"), "../bin/node");
const denoFlags = ["run", "--no-prompt", "--allow-net=127.0.0.1", "--allow-env"];

export const platforms: readonly Platform[] = [
  command("Node 22", () => [node22()]),
  command("Node 24", () => [process.execPath]),
  command("Node 26", () => [node26()]),
  command("Node 24", () => [process.execPath], "through the proxy"),
  command("Deno", () => [deno(), ...denoFlags]),
  command("Bun", () => [bun()]),
  {
    name: "workerd",
    how: "bundled",
    needs: "the repository's dependencies",
    version: workerdVersion,
    async run({ servers: { worker, gateway } }) {
      const body = JSON.stringify({ baseURL: gateway, gatewayURL: gateway });
      return (await fetch(worker, { method: "POST", body })).json();
    },
  },
  ...nextPlatforms,
  ...browsers.flatMap((browser) => [builtPage(browser), oneFile(browser)]),
];

function command(name: string, program: () => readonly string[], how = "installed with npm"): Platform {
  return {
    name,
    how,
    needs: "the packages of `tests/everywhere/tools`",
    version() {
      try {
        const [file = ""] = program();
        return /\d+(?:\.\d+)+/.exec(execFileSync(file, ["--version"], { encoding: "utf8" }))?.[0];
      } catch {
        return undefined;
      }
    },
    async run({ folder, servers: { gateway, proxy } }) {
      const [file = "", ...args] = program();
      const baseURL = how === "through the proxy" ? proxy : gateway;
      const { stdout } = await run(file, [...args, "command.js", baseURL, gateway], { cwd: folder });
      return JSON.parse(stdout);
    },
  };
}

function builtPage(browser: Browser): Platform {
  return {
    ...browser,
    how: "built with Vite",
    hasHooks: true,
    run: ({ servers: { gateway }, pages }) => inPage(browser, pages, "built/page.html", gateway, gateway),
  };
}

/** A page without a bundler, with the proxy between it and the gateway. */
function oneFile(browser: Browser): Platform {
  return {
    ...browser,
    how: "one file, through the proxy",
    async run({ servers: { proxy, gateway }, pages }) {
      pages.requested();
      const report = await inPage(browser, pages, "one-file.html", proxy, gateway);
      const ours = pages.requested().filter((path) => path.startsWith("/built/"));
      if (ours.length !== 1) throw new Error(`the page loaded ${ours.join(", ")}`);
      return report;
    },
  };
}

function inPage(browser: Browser, pages: Pages, path: string, baseURL: string, gatewayURL: string) {
  const query = new URLSearchParams({ baseURL, gatewayURL });
  return withPage(browser, `${pages.url}/${path}?${query}`, () => pages.report());
}

function workerdVersion(): string {
  const wrangler = createRequire(createRequire(import.meta.url).resolve("wrangler/package.json"));
  return wrangler("workerd/package.json").version;
}
