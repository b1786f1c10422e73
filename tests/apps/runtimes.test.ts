import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { behaviours } from "../everywhere/behaviours/index.js";
import { copyBehaviours } from "../everywhere/project.ts";

/* The built packages in Deno and Bun. `pnpm everywhere` runs the packed ones in more runtimes. */

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const { resolve } = createRequire(join(root, "packages/worker-proxy/package.json"));
const runtimes = [
  {
    name: "Deno",
    command: join(resolve("deno/package.json"), "../deno"),
    args: ["run", "-A", "--no-prompt", "--node-modules-dir=manual"],
  },
  { name: "Bun", command: join(resolve("bun/package.json"), "../bin/bun.exe"), args: [] },
];
const apiKey = "sk-everywhere";
let folder: string | undefined;
let gateway: string;
let stopGateway: () => Promise<unknown>;

beforeAll(async () => {
  mkdirSync(join(root, "tests/.tmp"), { recursive: true });
  folder = mkdtempSync(join(root, "tests/.tmp/runtimes-"));
  copyBehaviours(folder);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const child = spawn(process.execPath, ["gateway.js"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  stopGateway = () => {
    const closed = once(child, "close");
    child.kill();
    return closed;
  };
  for await (const line of createInterface(child.stdout)) {
    gateway = line;
    break;
  }
});
afterAll(async () => {
  await stopGateway?.();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

describe.each(runtimes)("$name", ({ name: runtime, command, args }) => {
  /** Runs a module until it exits by itself. Resolves to its output. */
  async function runModule(name: string, code: string): Promise<string> {
    const cwd = folder ?? "";
    writeFileSync(join(cwd, name), code);
    const env = { ...process.env, GATEWAY_API_KEY: apiKey };
    const { stdout } = await run(command, [...args, name], { cwd, env, timeout: 20_000 });
    return stdout;
  }

  test("streams, repeats, runs tools, watches tasks and reports errors", async () => {
    const [baseURL, gatewayURL] = [gateway, gateway];
    const { stdout } = await run(command, [...args, "command.js", baseURL, gatewayURL], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual(Object.keys(behaviours).map((name) => ({ name })));
  });

  test("runs the script of the README", async () => {
    const readme = readFileSync(join(root, "README.md"), "utf8");
    const script = /```ts script\n(.*?)```/s.exec(readme)?.[1] ?? "";
    const printed = await runModule("readme.ts", script.replace("https://gateway.example.com", gateway));
    expect(printed).toMatch(/\S+\ncomplete after \d+ ms\n$/s);
  });

  test("ends by itself after a batch with a ledger in a file", async () => {
    const printed = await runModule(
      "batch.ts",
      `import { createBatch } from "@sluice/batch";
import { createClient } from "@sluice/core";
import { fileStorage } from "@sluice/stores/node";

const client = createClient({ baseURL: "${gateway}", apiKey: process.env.GATEWAY_API_KEY });
const image = { model: "gamma-image-5-0-260128", prompt: "A reef" };
const batch = createBatch(client, ["dawn", "noon", "dusk"].map((id) => ({ id, image })), {
  id: "reefs",
  storage: fileStorage("${runtime}-reefs.jsonl"),
});
batch.subscribe(() => {});
const { status, done } = await batch.run();
console.log(status, done);
`,
    );
    expect(printed).toBe("done 3\n");
  });

  test("ends by itself after a chat whose thread is in a file", async () => {
    const printed = await runModule(
      "chat.ts",
      `import { createClient } from "@sluice/core";
import { createChatStore } from "@sluice/stores";
import { fileStorage } from "@sluice/stores/node";

const client = createClient({ baseURL: "${gateway}", apiKey: process.env.GATEWAY_API_KEY });
const chat = createChatStore(client, { id: "rivers", model: "delta-5.3", storage: fileStorage("${runtime}-chats.jsonl") });
chat.subscribe(() => {});
await chat.send("Hello");
console.log(chat.getSnapshot().status, chat.getSnapshot().messages.length);
`,
    );
    expect(printed).toBe("ready 2\n");
  });
});
