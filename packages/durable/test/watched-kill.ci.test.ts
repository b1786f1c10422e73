import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bundle } from "../../worker-proxy/test/support/bundle.js";
import { startUpstream } from "../../worker-proxy/test/support/upstream.js";

const SECRET = `whsec_${btoa("a secret of the app, 32 and more")}`;
let folder: string;
let gateway: Awaited<ReturnType<typeof startUpstream>>;
let app: Awaited<ReturnType<typeof startUpstream>>;
let running: ChildProcess | undefined;
let output = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "watched-"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "server.js"), await bundle("durable/test/fixture/watched-program.ts"));
  gateway = await startUpstream();
  app = await startUpstream();
});

afterEach(async () => {
  await kill();
  gateway.close();
  app.close();
  await rm(folder, { recursive: true });
});

/** Starts the program, and returns its address. */
async function start(): Promise<string> {
  output = "";
  const env = { ...process.env, GATEWAY: gateway.url, APP: app.url, SECRET, SPEED: "20" };
  const child = spawn(process.execPath, ["server.js"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  running = child;
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data) => {
      output += String(data);
    });
  await expect.poll(() => output).toContain("port ");
  return `http://127.0.0.1:${/port (\d+)/.exec(output)?.[1]}`;
}

async function kill(): Promise<void> {
  if (!running || running.exitCode !== null || running.signalCode !== null) return;
  running.kill("SIGKILL");
  await once(running, "exit");
}

async function create(proxy: string): Promise<string> {
  const body = JSON.stringify({ model: "beta3.0-video", input: { prompt: "a bird" } });
  const headers = { authorization: "ann", "content-type": "application/json" };
  const response = await fetch(`${proxy}/v1/video/generations`, { method: "POST", headers, body });
  return ((await response.json()) as { id: string }).id;
}

/** Makes the gateway accept creates, and respond to polls with `poll`. */
function respondToPolls(poll: (response: { end(text: string): void }) => void): void {
  gateway.respondWith((response, { method }) => {
    response.writeHead(200, { "content-type": "application/json" });
    if (method === "POST") response.end(JSON.stringify({ id: "t-1", status: "queued" }));
    else poll(response);
  });
}

const success = JSON.stringify({
  code: "success",
  data: { task_id: "t-1", status: "SUCCESS", result_url: "https://cdn.example/v.mp4" },
});

test("a process that is killed during a poll has polled, and the next process continues by itself", async () => {
  respondToPolls(() => {});
  const proxy = await start();
  const id = await create(proxy);
  await expect.poll(() => gateway.requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
  await kill();
  respondToPolls((response) => response.end(success));
  app.respondWith((response) => void response.writeHead(204).end());
  const next = await start();
  await expect.poll(() => gateway.requests).toHaveLength(1);
  const read = async () =>
    (await fetch(`${next}/v1/video/generations/${id}`, { headers: { authorization: "ann" } })).text();
  await expect.poll(read).toContain("SUCCESS");
  expect(gateway.requests).toHaveLength(1);
});

test("a process killed between two handlers repeats only the handler that had not succeeded", async () => {
  respondToPolls((response) => response.end(success));
  app.respondWith((response, { url }) => {
    // the other handler never gets a response from this process
    if (url === "/hook") response.writeHead(204).end();
  });
  await create(await start());
  await expect.poll(() => output).toContain('"type":"job","job":"webhook"');
  await expect.poll(() => app.requests.map(({ url }) => url).toSorted()).toEqual(["/book", "/hook"]);
  const { body, rawHeaders } = app.requests.find(({ url }) => url === "/hook") ?? {
    body: "",
    rawHeaders: [],
  };
  const handledEnds = app.requests.find(({ url }) => url === "/book")?.body;
  await kill();

  app.respondWith((response) => void response.writeHead(204).end());
  await start();
  await expect.poll(() => app.requests.map(({ url }) => url)).toEqual(["/book"]);
  // the attempt that was lost is counted, and the next one keeps its pause
  expect(output).toContain("handleEnd, attempt 1 of 9");
  expect(output).toContain("the process ended during the attempt");
  // the id stays the same in every attempt, so that the app recognizes a repeat
  expect(app.requests[0]?.body).toBe(handledEnds);
  const headers = rawHeaders.flatMap((name, at) =>
    at % 2 ? [] : [[name.toLowerCase(), rawHeaders[at + 1]]],
  );
  const signed = Object.fromEntries(headers) as Record<string, string>;
  expect(signed["webhook-id"]).toBe(`msg_${handledEnds}`);
  expect(() => new Webhook(SECRET).verify(body, { ...signed, "webhook-id": "msg_other" })).toThrow();
});
