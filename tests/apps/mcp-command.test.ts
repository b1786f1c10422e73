import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client as McpClient } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { expect, onTestFinished, test } from "vitest";

/* The built commands of @sluice/mcp, started as processes as by an agent or a terminal. */

const KEY = "sk-canary-0123456789abcdef";
const dist = (file: string) => fileURLToPath(new URL(`../../packages/mcp/dist/${file}`, import.meta.url));

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-mcp-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function gateway(options: EmulatorOptions = { speed: Number.POSITIVE_INFINITY }) {
  const emulator = createEmulator({ apiKeys: [KEY], ...options });
  const { url, close } = await serve(emulator, { port: 0 });
  onTestFinished(close);
  return {
    emulator,
    env: { ...process.env, GATEWAY_URL: url, GATEWAY_API_KEY: KEY } as Record<string, string>,
  };
}

/** Starts a server as an agent does, and keeps all that it writes. */
async function startAgent(env: Record<string, string>, ...args: readonly string[]) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [dist("cli.js"), "mcp", ...args],
    env,
    stderr: "pipe",
  });
  let written = "";
  transport.stderr?.on("data", (bytes) => {
    written += bytes;
  });
  const mcp = new McpClient({ name: "agent", version: "1.0.0" });
  await mcp.connect(transport);
  const seen = transport.onmessage;
  transport.onmessage = (message) => {
    written += JSON.stringify(message);
    seen?.(message);
  };
  onTestFinished(() => mcp.close());
  const call = async (name: string, input: Record<string, unknown>) =>
    (await mcp.callTool({ name, arguments: input })) as {
      readonly isError?: boolean;
      readonly content: readonly { readonly text?: string; readonly uri?: string }[];
      readonly structuredContent?: Record<string, unknown>;
    };
  return { mcp, call, written: () => written, pid: transport.pid };
}

test("an agent that starts sluice mcp gets a response, an image, a video and errors, and never the key (case 215)", async () => {
  const { env } = await gateway();
  const folder = temporaryFolder();
  const agent = await startAgent(env, "--folder", folder);
  expect((await agent.mcp.listTools()).tools).toHaveLength(14);
  const messages = [{ role: "user", content: "Why is the sky blue?" }];
  expect((await agent.call("chat_delta-5_3", { messages })).content[0]?.text).toContain("sky");
  await agent.call("image_gamma-image-5-0-260128", { prompt: "A reef" });
  const started = await agent.call("video_start_beta3_0-video", { input: { prompt: "A reef" } });
  const { id, model } = started.structuredContent ?? {};
  await agent.call("video_wait", { id, model });
  expect((await readdir(folder)).toSorted()).toEqual([
    expect.stringMatching(/^image-[\da-f]{8}-1-[\da-f]{8}\.(jpg|png)$/),
    "sluice-calls.jsonl",
    expect.stringMatching(new RegExp(`^video-${id}-[\\da-f]{8}\\.mp4$`)),
  ]);
  for (const prompt of ["[[drop]]", "[[500]]", "[[malformed]]"])
    expect((await agent.call("image_gamma-image-5-0-260128", { prompt })).isError).toBe(true);
  expect(agent.written()).toContain("may be billed");
  expect(agent.written()).not.toContain("canary");
});

test("`sluice mcp` starts the same server, which saves into its folder, and never tells the key (case 215)", async () => {
  const { env } = await gateway();
  const folder = temporaryFolder();
  const agent = await startAgent(env, "--folder", folder);
  expect((await agent.mcp.listTools()).tools).toHaveLength(14);
  await agent.call("image_gamma-image-5-0-260128", { prompt: "A reef" });
  expect(await readdir(folder)).toHaveLength(2);
  expect((await agent.call("image_gamma-image-5-0-260128", { prompt: "[[drop]]" })).isError).toBe(true);
  expect(agent.written()).not.toContain("canary");
});

test("A server ends when its agent leaves, also within a call", async () => {
  const { env, emulator } = await gateway();
  const { call, mcp, pid } = await startAgent(env);
  const calling = call("image_gamma-image-5-0-260128", { prompt: "A reef [[stall]]" }).catch(() => "closed");
  await expect.poll(() => emulator.requests.length).toBe(1);
  await mcp.close();
  expect(await calling).toBe("closed");
  expect(() => process.kill(pid ?? 0, 0)).toThrow("ESRCH");
  await expect.poll(() => emulator.requests[0]?.aborted).toBe(true);
});

test("A server that is killed in a paid call does not pay for it again after its restart", async () => {
  const { env, emulator } = await gateway();
  const folder = temporaryFolder();
  const input = { prompt: "A reef [[stall]]", idempotency_key: "k-0123456789" };
  const first = await startAgent(env, "--folder", folder);
  const calling = first.call("image_gamma-image-5-0-260128", input).catch(() => "killed");
  await expect.poll(() => emulator.requests.length).toBe(1);
  process.kill(first.pid ?? 0, "SIGKILL");
  expect(await calling).toBe("killed");
  const second = await startAgent(env, "--folder", folder);
  for (const again of [input, { prompt: input.prompt }]) {
    const result = await second.call("image_gamma-image-5-0-260128", again);
    expect(result.content[0]?.text).toMatch(/^Nothing was sent: an earlier call/);
  }
  expect(emulator.requests).toHaveLength(1);
});

test("The command runs without the MCP SDK, which only its server loads", async () => {
  const { env } = await gateway();
  const hook = `data:text/javascript,import { registerHooks } from "node:module"; registerHooks({ resolve(name, context, next) { if (name.startsWith("@modelcontextprotocol")) throw new Error("loads " + name); return next(name, context); } });`;
  const without = { ...env, NODE_OPTIONS: `--import=${JSON.stringify(hook)}` };
  expect((await sluice(without, ["chat", "Hi"])).code).toBe(0);
  expect((await sluice(without, ["mcp"])).err).toContain("loads @modelcontextprotocol/server");
});

/** Runs the command to its end, or presses Ctrl+C once it has written `stopsAt`. */
async function sluice(env: Record<string, string>, args: readonly string[], stopsAt?: RegExp) {
  const child = spawn(process.execPath, [dist("cli.js"), ...args], { env });
  let out = "";
  let err = "";
  let isStopped = false;
  child.stdout.on("data", (bytes) => {
    out += bytes;
  });
  child.stderr.on("data", (bytes) => {
    err += bytes;
    // a second Ctrl+C would end the process immediately
    if (stopsAt?.test(err) && !isStopped) isStopped = child.kill("SIGINT");
  });
  child.stdin.end();
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { code, out, err };
}

test("A video that is stopped by Ctrl+C is found again by its id, and paid for once", async () => {
  let laterMs = 0;
  const clock = { now: () => Date.now() + laterMs, sleep: async () => {} };
  const { env, emulator } = await gateway({ clock });
  const folder = temporaryFolder();
  const stopped = await sluice(env, ["video", "A reef", "--out", folder], /queued|running/);
  expect(stopped.code).toBe(130);
  const [, id = ""] = /sluice video --resume (\S+)/.exec(stopped.err) ?? [];
  laterMs = 600_000;
  const resumed = await sluice(env, ["video", "--resume", id, "--out", folder, "--json"]);
  expect(resumed.code).toBe(0);
  expect(JSON.parse(resumed.out)).toMatchObject({ id, state: "succeeded" });
  expect(emulator.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
});

test("The command tells where the address is missing, and ends with 2", async () => {
  const { GATEWAY_URL: _, ...env } = { GATEWAY_URL: "", PATH: process.env["PATH"] ?? "" };
  const { code, err } = await sluice(env, ["chat", "Hi"]);
  expect(code).toBe(2);
  expect(err).toMatch(/^Where is the gateway\? Set GATEWAY_URL/);
});
