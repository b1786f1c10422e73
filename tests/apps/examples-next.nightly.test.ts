import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createEmulator } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import { chromium } from "playwright";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chromiumFlags, findChromium } from "../../scripts/chromium.ts";

/*
 * An app of Next's app router on the built packages: built, served and taken over by a browser as it would be in
 * production. The code of the Next quick start is this app's.
 */

const folder = fileURLToPath(new URL("../../examples/next", import.meta.url));
const emulator = createEmulator({ apiKeys: ["sk-next"], speed: Number.POSITIVE_INFINITY });
let gateway: Served;
let server: ChildProcess;
let address = "";

/** Runs a command of Next.js. Resolves to its output up to `sign`, or to all of it. */
function next(args: readonly string[], env: Readonly<Record<string, string>>, sign?: RegExp) {
  const child = spawn(process.execPath, ["node_modules/next/dist/bin/next", ...args], {
    cwd: folder,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = new Promise<string>((resolve, reject) => {
    let text = "";
    const read = (piece: Buffer) => {
      text += piece;
      if (sign?.test(text)) resolve(text);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("exit", (code) =>
      code === 0 ? resolve(text) : reject(new Error(`next ended with ${code}:\n${text}`)),
    );
  });
  return { child, printed };
}

/** Returns an address with a port below the ephemeral range, so that no other process uses it. */
async function freeAddress(): Promise<string> {
  for (let port = 20_000 + (process.pid % 5000); port < 30_000; port += 1) {
    const free = await serve(emulator, { port }).catch(() => undefined);
    await free?.close();
    if (free) return free.url;
  }
  throw new Error("no port is free");
}

beforeAll(async () => {
  rmSync(`${folder}/.next`, { recursive: true, force: true });
  await next(["build"], {}).printed;
  gateway = await serve(emulator, { port: 0 });
  address = await freeAddress();
  const started = next(
    ["start", "-H", "127.0.0.1", "-p", new URL(address).port],
    { GATEWAY_URL: gateway.url, GATEWAY_API_KEY: "sk-next", APP_ORIGIN: address, DEVELOPMENT_USER: "ada" },
    /Ready/,
  );
  server = started.child;
  await started.printed;
}, 180_000);

afterAll(async () => {
  server?.kill();
  await gateway?.close();
});

test("a page is rendered for each visitor anew: nothing of one is in another's", async () => {
  const pages = await Promise.all(
    ["Ada", "Grace"].map(async (name) => (await fetch(`${address}/?name=${name}`)).text()),
  );
  expect(pages[0]).toContain("Welcome back, Ada");
  expect(pages[1]).toContain("Welcome back, Grace");
  expect(pages[1]).not.toContain("Ada");
  expect(emulator.requests).toEqual([]);
});

test.skipIf(!findChromium())(
  "Chromium hydrates the page without a warning, and chats through the route (skipped where there is none)",
  async () => {
    const browser = await chromium.launch({ executablePath: findChromium() ?? "", args: chromiumFlags });
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    try {
      await page.goto(`${address}/?name=Ada`);
      await page.getByRole("button", { name: "Say hello" }).click();
      await page
        .getByText(/^assistant .{20,}/)
        .last()
        .waitFor();
      await page.getByText("Welcome back, Ada").last().waitFor();
      const others = "idle, idle, 0, idle, Welcome back, Ada";
      await page.getByRole("status").filter({ hasText: others }).waitFor();
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
    expect(emulator.requests.map(({ path }) => path)).toEqual(["/v1/chat/completions"]);
  },
);
