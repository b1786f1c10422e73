import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { run } from "../../scripts/tarballs.ts";
import { browsers, withPage } from "./browsers.ts";
import type { Platform, Setup } from "./platforms.ts";

/*
 * An app of Next's app router: a Server Component, a Client Component, and the proxy in a route handler.
 */

/** The version of Next that the project gets. */
export const nextVersion: string = createRequire(
  join(import.meta.dirname, "../../examples/next/package.json"),
)("next/package.json").version;

const [chromium] = browsers;

export const nextPlatforms: readonly Platform[] = [
  {
    name: "Next",
    how: "Server Component",
    needs: "the npm registry",
    version: () => nextVersion,
    run: (setup) =>
      withNext(setup, async (address) => {
        const page = await (await fetch(`${address}/server`)).text();
        const [, report = ""] = /<pre>(.*?)<\/pre>/.exec(page) ?? [];
        if (report === "") throw new Error(`the page has no report: ${page.slice(0, 500)}`);
        return JSON.parse(decodeURIComponent(report));
      }),
  },
  {
    name: "Next",
    how: "page in Chromium, through its route handler",
    needs: chromium?.needs ?? "",
    hasHooks: true,
    version: () => chromium?.version() && nextVersion,
    run: (setup) =>
      withNext(setup, (address) => {
        const query = new URLSearchParams({
          gatewayURL: setup.servers.gateway,
          reportURL: `${setup.pages.url}/report`,
        });
        if (!chromium) throw new Error("there is no Chromium");
        return withPage(chromium, `${address}/?${query}`, () => setup.pages.report());
      }),
  },
];

/** Builds the app unless it is built, and serves it while `work` runs. */
async function withNext<Result>(
  { folder, servers }: Setup,
  work: (address: string) => Promise<Result>,
): Promise<Result> {
  const appFolder = join(folder, "next");
  const next = [process.execPath, join(folder, "node_modules/next/dist/bin/next")];
  if (!existsSync(join(appFolder, ".next/BUILD_ID")))
    run([...next, "build"], appFolder, { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" });
  // another process may use the port before the app does
  for (let attemptsLeft = 5; attemptsLeft > 0; attemptsLeft -= 1) {
    const address = `http://127.0.0.1:${await freePort()}`;
    const [program = "", ...args] = [...next, "start", "-H", "127.0.0.1", "-p", new URL(address).port];
    const child = spawn(program, args, {
      cwd: appFolder,
      env: { ...process.env, NODE_ENV: "production", GATEWAY_URL: servers.gateway, PAGE_ORIGIN: address },
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      for await (const line of createInterface(child.stdout))
        if (line.includes("Ready")) return await work(address);
    } finally {
      child.kill();
    }
  }
  throw new Error("Next did not start");
}

/** A port that was free a moment ago: the app has to know its address before it starts. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
