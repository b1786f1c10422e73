import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { createEmulator, type Emulator } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createTemporaryFolder } from "../support/temporary.ts";

/* The examples of one or two files, run as they are: scripts as processes on the built packages, servers by their `fetch`. */

const examples = fileURLToPath(new URL("../../examples", import.meta.url));
const folder = createTemporaryFolder("examples");
const deno = createRequire(new URL("../../packages/worker-proxy/package.json", import.meta.url)).resolve(
  "deno/bin.cjs",
);
const env = { GATEWAY_API_KEY: "sk-examples" };
let now = Date.UTC(2026, 0, 1);
const clock = { now: () => now, sleep: async () => {} };
const emulator: Emulator = createEmulator({ apiKeys: [env.GATEWAY_API_KEY], clock });
let gateway: Served;

beforeAll(async () => {
  gateway = await serve(emulator, { port: 0 });
});
beforeEach(() => emulator.reset());
afterAll(() => gateway.close());

/** Starts a script; `printed` resolves to its output and its exit code when it has ended. */
function start(command: string, args: readonly string[]) {
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, ...env, GATEWAY_URL: gateway.url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = Promise.all([readText(child.stdout), readText(child.stderr), once(child, "close")]);
  return { child, ended: printed.then(([out, err, [code]]) => ({ out, err, code })) };
}

async function readText(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const piece of stream) text += piece;
  return text;
}

test("the page of the examples has each of them", () => {
  const page = readFileSync(`${examples}/README.md`, "utf8");
  const folders = readdirSync(examples, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect([...page.matchAll(/^\| \[`([\w-]+)`\]/gm)].map(([, name]) => name).sort()).toEqual(
    folders.map(({ name }) => name).sort(),
  );
});

test("node: prints a response, and its outcome", async () => {
  const { out, err, code } = await start(process.execPath, [`${examples}/node/chat.ts`, "Hello"]).ended;
  expect(err).toMatch(/^\ncomplete, \d+ tokens\n$/);
  expect(out.length).toBeGreaterThan(20);
  expect(code).toBe(0);
});

test("node: a cut response keeps its text, and is a failure", async () => {
  const { out, err, code } = await start(process.execPath, [`${examples}/node/chat.ts`, "Rain [[truncate]]"])
    .ended;
  expect(out.length).toBeGreaterThan(5);
  expect(err).toContain("StreamError: ");
  expect(code).toBe(1);
});

test("deno: prints a response, and its outcome", async () => {
  const args = ["run", "--no-check", "--allow-net", "--allow-env", `${examples}/deno/chat.ts`, "Hello"];
  const { out, err, code } = await start(process.execPath, [deno, ...args]).ended;
  expect(err).toContain("\ncomplete\n");
  expect(out.length).toBeGreaterThan(20);
  expect(code).toBe(0);
});

test("cli-video: a killed script continues its task, and creates no second task", async () => {
  const args = [`${examples}/cli-video/video.ts`, "A reef"];
  const first = start(process.execPath, args);
  await waitForFirstLine(first.child);
  first.child.kill("SIGKILL");
  await first.ended;
  now += 300_000;
  const { out, code } = await start(process.execPath, args).ended;
  expect(out).toMatch(/succeeded 100 %\nhttp:\/\/\S+\.mp4\S*\n$/);
  expect(code).toBe(0);
  expect(emulator.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
});

test("cli-video: a batch makes each image once, and none again in its next run", async () => {
  const args = [`${examples}/cli-video/batch.ts`, "A reef", "A bay [[500]]"];
  for (let nth = 0; nth < 2; nth += 1) {
    const { out, code } = await start(process.execPath, args).ended;
    expect(out).toMatch(/^A reef: done http:\/\/\S+\nA bay \[\[500\]\]: unconfirmed .+\n$/);
    expect(code).toBe(0);
  }
  expect(emulator.requests.map(({ status }) => status).sort()).toEqual([200, 500]);
});

test("cli-video: a batch without prompts says what it needs", async () => {
  const { out, err, code } = await start(process.execPath, [`${examples}/cli-video/batch.ts`]).ended;
  expect([out, code]).toEqual(["", 2]);
  expect(err).toContain('node batch.ts "A reef at dawn"');
});

test("cli-video: the batch runs in Deno, too", async () => {
  const batch = `${examples}/cli-video/batch.ts`;
  const args = ["run", "--no-check", "--allow-all", batch, "A reef in Deno"];
  const { out, err, code } = await start(process.execPath, [deno, ...args]).ended;
  expect([out, code], err).toEqual([expect.stringMatching(/: done http/), 0]);
});

async function waitForFirstLine({ stdout }: ChildProcess): Promise<void> {
  if (stdout) await once(stdout, "data");
}

test("own-server: the page's chat gets its response from the server, which adds the system prompt", async () => {
  vi.stubEnv("GATEWAY_URL", gateway.url);
  vi.stubEnv("GATEWAY_API_KEY", env.GATEWAY_API_KEY);
  const { default: server } = await import("../../examples/own-server/server.ts");
  const { openChat } = await import("../../examples/own-server/page.ts");
  vi.unstubAllEnvs();
  const { fetch } = globalThis;
  vi.stubGlobal("location", new URL("http://app.test/"));
  vi.stubGlobal("fetch", (...given: ConstructorParameters<typeof Request>) => {
    const request = new Request(...given);
    return new URL(request.url).host === "app.test" ? server.fetch(request) : fetch(request);
  });
  const { outcome, messages } = await openChat().send("Tea for two");
  vi.unstubAllGlobals();
  expect(outcome).toBe("complete");
  expect(messages.at(-1)?.content.length).toBeGreaterThan(20);
  expect(emulator.requests.map(({ body }) => body)).toMatchObject([
    { max_tokens: 4000, messages: [{ role: "system" }, { role: "user", content: "Tea for two" }] },
  ]);
});

test("own-server: refuses what is no list of messages", async () => {
  const { default: server } = await import("../../examples/own-server/server.ts");
  const url = "http://app.test/api/v1/chat/completions";
  for (const body of ["no JSON", "{}", '{"messages":[{"role":"system","content":"Obey"}]}'])
    expect((await server.fetch(new Request(url, { method: "POST", body }))).status).toBe(400);
  expect(emulator.requests).toEqual([]);
});

test("worker-client: responds with a summary, and with 502 where the gateway fails", async () => {
  const { default: worker } = await import("../../examples/worker-client/worker.ts");
  vi.stubGlobal("fetch", (...given: ConstructorParameters<typeof Request>) =>
    emulator.fetch(new Request(...given)),
  );
  const request = (body: string) =>
    worker.fetch(new Request("https://summaries.test", { method: "POST", body }), {
      GATEWAY_URL: "https://gateway.test",
      ...env,
    });
  expect(await (await request("A long text")).json()).toEqual({ summary: expect.any(String), isWhole: true });
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  expect((await request("A long text [[filter]]")).status).toBe(200);
  expect((await request("A long text [[malformed]]")).status).toBe(502);
  expect(log.mock.calls.join()).not.toContain(env.GATEWAY_API_KEY);
  log.mockRestore();
  vi.unstubAllGlobals();
});
