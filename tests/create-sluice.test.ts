import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../scripts/chromium.ts";
import { sharedBrowser } from "./support/browser.ts";

/*
 * Apps made by the built command. The long tests install the packed packages in them, as a user would from the registry,
 * then build and start them.
 */

const root = fileURLToPath(new URL("../", import.meta.url));
const command = join(root, "packages/create-sluice/dist/cli.js");
const folder = mkdtempSync(join(tmpdir(), "sluice-create-"));
const running: ChildProcess[] = [];
/** Environment of a user's shell: in a test, tools behave in another way. */
const { NODE_ENV: _, VITEST: __, ...shell } = process.env;

afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.pid === undefined) continue;
    const ended = once(child, "close");
    // the command and what it started
    process.kill(-child.pid, "SIGKILL");
    await ended;
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs `npm create sluice` in the folder of the tests. */
function create(...args: string[]): string {
  return execFileSync(process.execPath, [command, ...args], { cwd: folder, encoding: "utf8", stdio: "pipe" });
}

const read = (path: string) => readFileSync(join(folder, path), "utf8");
const manifestOf = (app: string) => JSON.parse(read(`${app}/package.json`));

describe("a new app", () => {
  test("has the files of the examples, a name, a README and a .gitignore", () => {
    const printed = create("My App");
    expect(printed).toContain("npm install");
    expect(manifestOf("My App")).toMatchObject({ name: "my-app", private: true, version: "0.0.0" });
    for (const file of ["chat.tsx", "chat.css", "index.html", "vite.config.ts"])
      expect(read(`My App/${file}`), file).toBe(
        readFileSync(join(root, "examples/minimal-chat", file), "utf8"),
      );
    expect(read("My App/worker/src/options.ts")).toBe(
      readFileSync(join(root, "examples/worker/src/options.ts"), "utf8"),
    );
    expect(read("My App/.gitignore")).toContain(".dev.vars");
    expect(read("My App/README.md")).toContain("npm run dev");
  });

  test.each(["react", "worker", "deno", "next"])(
    "A new app of %s needs nothing of the repository",
    (template) => {
      create(template, "--template", template);
      for (const file of globSync("**/{package,tsconfig}.json", { cwd: join(folder, template) }))
        expect(read(`${template}/${file}`), file).not.toMatch(/workspace:|catalog:|\.\.\/\.\./);
    },
  );

  test("A new Worker has random secrets for this machine", () => {
    create("one", "--template", "worker");
    create("two", "--template", "worker");
    const secretOf = (app: string) => /^JWT_SECRET=(.{40,})$/m.exec(read(`${app}/.dev.vars`))?.[1];
    expect(secretOf("one")).toBeDefined();
    expect(secretOf("one")).not.toBe(secretOf("two"));
  });

  test.each([
    [["full"], "full is not empty"],
    [["x", "--template", "vue"], "there is no template vue; there are react, worker, deno, next"],
    [["empty", "--add"], "empty has no package.json"],
    [["a", "b"], "one folder"],
  ])("%j is refused with the reason", (args, reason) => {
    mkdirSync(join(folder, "full"), { recursive: true });
    writeFileSync(join(folder, "full/notes.txt"), "mine");
    expect(() => create(...args)).toThrow(reason);
  });
});

test("--add keeps every file, and gives package.json what it lacks", () => {
  mkdirSync(join(folder, "mine"));
  const own = { name: "mine", scripts: { dev: "next dev" }, dependencies: { react: "18.3.1" } };
  writeFileSync(join(folder, "mine/package.json"), JSON.stringify(own));
  writeFileSync(join(folder, "mine/index.html"), "mine");
  const printed = create("mine", "--add");
  expect(printed).toMatch(/Left as they are:\n\n {2}index\.html\n/);
  expect(read("mine/index.html")).toBe("mine");
  expect(existsSync(join(folder, "mine/README.md"))).toBe(false);
  expect(manifestOf("mine")).toMatchObject({
    name: "mine",
    scripts: { dev: "next dev", build: "vite build" },
    dependencies: { react: "18.3.1", "@sluice/react": expect.any(String) },
  });
});

describe("an app that is installed from packed packages", { tags: ["long"], timeout: 300_000 }, () => {
  const tarballs = new Map<string, string>();
  let hasRegistry = false;

  beforeAll(() => {
    hasRegistry = spawnSync("npm", ["view", "react", "version"], { timeout: 20_000 }).status === 0;
    const [, pnpm] = /(pnpm@[\d.]+)/.exec(readFileSync(join(root, "CONTRIBUTING.md"), "utf8")) ?? [];
    const args = ["-y", `${pnpm}`, "-r", "--filter", "./packages/*", "pack", "--pack-destination", folder];
    execFileSync("npx", args, { cwd: root, stdio: "pipe" });
    for (const file of globSync("sluice-*.tgz", { cwd: folder }))
      tarballs.set(file.replace(/^sluice-(.*)-\d.*/, "@sluice/$1"), join(folder, file));
  }, 120_000);

  beforeEach(({ skip }) => skip(!hasRegistry, "the npm registry can't be reached"));

  /** Installs an app; its packages of this repository are the packed ones. */
  function install(app: string): string {
    const at = join(folder, app);
    const manifest = manifestOf(app);
    const ours = Object.fromEntries([...tarballs].map(([name, path]) => [name, `file:${path}`]));
    for (const list of [manifest.dependencies, manifest.devDependencies])
      for (const name of Object.keys(list)) list[name] = ours[name] ?? list[name];
    writeFileSync(join(at, "package.json"), JSON.stringify({ ...manifest, overrides: ours }));
    run(at, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund");
    return at;
  }

  /** Runs a command to its end. Throws what it printed, if it fails. */
  function run(at: string, name: string, ...args: string[]): void {
    const { status, stdout, stderr } = spawnSync(name, args, { cwd: at, env: shell, encoding: "utf8" });
    if (status !== 0) throw new Error(`${name} ${args.join(" ")}\n${stdout}${stderr}`);
  }

  /** Starts a command, and waits for the address that it prints. */
  async function start(at: string, line: string, ...args: string[]): Promise<string> {
    const child = spawn("npm", ["run", line, "--", ...args], { cwd: at, env: shell, detached: true });
    running.push(child);
    let printed = "";
    return new Promise((resolve, reject) => {
      child.once("close", () => reject(new Error(`npm run ${line} ended:\n${printed}`)));
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (piece) => {
          printed += piece;
          const [address] = /http:\/\/(?:127\.0\.0\.1|localhost):\d+/.exec(printed) ?? [];
          if (address) resolve(address);
        });
    });
  }

  test.skipIf(!findChromium())("a page with a chat builds, and answers a click without a key", async () => {
    create("chat");
    const at = install("chat");
    run(at, "npm", "run", "types");
    run(at, "npm", "run", "build");
    const page = await (await sharedBrowser()).newPage();
    await page.goto(await start(at, "dev", "--port", "0"));
    await page.getByRole("textbox", { name: "Message" }).fill("Hello");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const answer = page
      .getByRole("list", { name: "Messages" })
      .getByRole("listitem")
      .last()
      .getByRole("paragraph");
    await expect.poll(() => answer.textContent()).toMatch(/\w+ \w+ \w+/);
    await page.context().close();
  });

  test("a Worker answers a user whom it knows, and no other, without a key of the gateway", async () => {
    create("proxy", "--template", "worker");
    const at = install("proxy");
    run(at, "npm", "run", "types");
    const gateway = await start(at, "gateway", "--port", "0");
    writeFileSync(
      join(at, ".dev.vars"),
      read("proxy/.dev.vars").replace(/^GATEWAY_URL=.*$/m, `GATEWAY_URL=${gateway}`),
    );
    const address = await start(at, "dev", "--port", "0", "--ip", "127.0.0.1");
    const [, secret = ""] = /^JWT_SECRET=(.*)$/m.exec(read("proxy/.dev.vars")) ?? [];
    const env = { ...process.env, JWT_SECRET: secret };
    const token = execFileSync(process.execPath, ["scripts/token.ts", "ada"], {
      cwd: at,
      env,
      encoding: "utf8",
    });
    const body = JSON.stringify({ model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] });
    const ask = (authorization: string) =>
      fetch(`${address}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json" },
        body,
      });
    expect((await ask("Bearer nobody")).status).toBe(401);
    const answer = await ask(`Bearer ${token.trim()}`);
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("chat.completion")]);
  });

  test("a Next app builds, shows its page, and answers a chat without a key", async () => {
    create("site", "--template", "next");
    const at = install("site");
    const gateway = await start(at, "gateway", "--port", "0");
    writeFileSync(join(at, ".env.local"), `GATEWAY_URL=${gateway}\nGATEWAY_API_KEY=sk-test\n`);
    run(at, "npm", "run", "build");
    const address = await start(at, "start", "--port", "0", "--hostname", "127.0.0.1");
    expect(await (await fetch(address)).text()).toContain("Welcome back");
    const answer = await fetch(`${address}/api/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] }),
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("chat.completion")]);
  });

  test("a Deno script prints an answer", async () => {
    create("script", "--template", "deno");
    const at = install("script");
    const gateway = await start(at, "gateway", "--port", "0");
    const deno = createRequire(join(root, "packages/worker-proxy/package.json")).resolve("deno/bin.cjs");
    const args = [deno, "run", "--allow-net", "--allow-env", "chat.ts", "Hello"];
    const env = { ...process.env, GATEWAY_URL: gateway };
    const printed = execFileSync(process.execPath, args, { cwd: at, env, encoding: "utf8", stdio: "pipe" });
    expect(printed.length).toBeGreaterThan(20);
  });
});
