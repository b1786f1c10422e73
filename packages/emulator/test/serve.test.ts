import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ask, createFastEmulator, KEY, readFrames } from "./support.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serveEmulator(options: Partial<EmulatorOptions> = {}) {
  const emulator = createFastEmulator(options);
  const served = await serve(emulator, { port: 0 });
  closing.push(served.close);
  return { emulator, served };
}

function send({ url }: Pick<Served, "url">, body: object, init: RequestInit = {}) {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    ...init,
  });
}

describe("over real sockets", () => {
  test("an answer and a stream arrive whole", async () => {
    const { served } = await serveEmulator();
    expect(await (await send(served, ask("hi"))).json()).toMatchObject({ object: "chat.completion" });
    const { frames } = await readFrames(await send(served, ask("Tell me about tea", { stream: true })));
    expect(frames.at(-1)).toBe("[DONE]");
  });

  test("each frame leaves when it is made", async () => {
    const { served } = await serveEmulator();
    const response = await send(
      served,
      ask("hi [[stall]]", { model: "gamma-chat-1-6-251015", stream: true }),
    );
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    while (text.split("\n\n").length <= 9) text += new TextDecoder().decode((await reader.read()).value);
    expect(text).toContain('"delta":{"content"');
    await reader.cancel();
  });

  test("a client that aborts is recorded as gone", async () => {
    const { emulator, served } = await serveEmulator();
    const leaving = new AbortController();
    const response = await send(served, ask("hi [[stall]]", { stream: true }), { signal: leaving.signal });
    await (response.body as ReadableStream<Uint8Array>).getReader().read();
    expect(emulator.requests[0]?.aborted).toBe(false);
    leaving.abort();
    await expect.poll(() => emulator.requests[0]).toMatchObject({ aborted: true, finished: false });
  });

  test("a client that leaves before the answer is recorded too", async () => {
    const { emulator, served } = await serveEmulator();
    const leaving = new AbortController();
    const answer = send(served, ask("hi [[stall]]"), { signal: leaving.signal });
    await expect.poll(() => emulator.requests).toHaveLength(1);
    leaving.abort();
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
    await expect.poll(() => emulator.requests[0]?.aborted).toBe(true);
  });

  test("a client that stops reading holds the model up", async () => {
    const { emulator, served } = await serveEmulator({ chat: () => "so much to say ".repeat(50_000) });
    const socket = connect(Number(new URL(served.url).port), "127.0.0.1");
    closing.push(() => socket.destroy());
    const body = JSON.stringify(ask("Go on", { stream: true, reasoning_effort: "none" }));
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await once(socket, "readable");
    const count = () => emulator.requests[0]?.deltas ?? 0;
    let before = -1;
    await vi.waitFor(
      () => {
        const now = count();
        const isStill = now === before;
        before = now;
        expect(isStill).toBe(true);
      },
      { interval: 200, timeout: 10_000 },
    );
    expect(count()).toBeLessThan(200_000);
    expect(emulator.requests[0]?.finished).toBe(false);
  });

  test("a dropped stream is a lost connection, with the text before it delivered", async () => {
    const { served } = await serveEmulator();
    const fields = { model: "gamma-chat-1-6-251015", stream: true };
    const { frames, failure } = await readFrames(await send(served, ask("hi [[drop]]", fields)));
    expect(frames).toHaveLength(9);
    expect(failure).toBeInstanceOf(TypeError);
  });

  test("a refused connection has no answer", async () => {
    const { served } = await serveEmulator({ faults: () => "refuse" });
    await expect(send(served, ask("hi"))).rejects.toBeInstanceOf(TypeError);
  });

  test("closing ends open streams", async () => {
    const { served } = await serveEmulator();
    const response = await send(served, ask("hi [[stall]]", { stream: true }));
    const reading = readFrames(response);
    await served.close();
    expect((await reading).failure).toBeInstanceOf(TypeError);
  });

  test("odd requests don't end the server", async () => {
    const { served } = await serveEmulator();
    for (const line of [
      "GET http://elsewhere.example/v1 HTTP/1.1\r\nHost: %%\r\n\r\n",
      "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n",
    ]) {
      const socket = connect(Number(new URL(served.url).port), "127.0.0.1");
      socket.on("error", () => {});
      socket.end(line);
      socket.resume();
      await once(socket, "close");
    }
    expect((await fetch(served.url)).status).toBe(200);
  });
});

describe("the command", () => {
  test("prints its address, the key and a request that works when pasted", async () => {
    const { output, url, key } = await started("--port", "0", "--speed", "Infinity");
    expect(key).toMatch(/^sk-sluice-\w{24}$/);
    expect(output).toContain("Ctrl+C");
    const line = output.split("\n").find((text) => text.startsWith("curl ")) ?? "";
    expect(line).toContain(`${url}/v1/chat/completions`);
    const [body = ""] = /(?<=-d ')[^']+/.exec(line) ?? [];
    const headers = Object.fromEntries(
      [...line.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name, value]) => [name, value]),
    );
    const { frames } = await readFrames(await send({ url }, {}, { headers, body }));
    expect(frames.at(-1)).toBe("[DONE]");
  });

  test("accepts the keys it is given", async () => {
    const { url } = await started("--port", "0", "--key", "sk-one", "--key", KEY, "--speed", "100");
    expect((await send({ url }, ask("hi"))).status).toBe(200);
  });

  test.each(["SIGINT", "SIGTERM"] as const)("ends on %s, streams under way or not", async (signal) => {
    const { command, url } = await started("--port", "0", "--key", KEY);
    const response = await send({ url }, ask("hi [[stall]]", { stream: true }));
    const reading = readFrames(response);
    command.kill(signal);
    expect(await once(command, "exit")).toEqual([0, null]);
    expect((await reading).failure).toBeInstanceOf(TypeError);
  });

  test("refuses unknown fields with --strict", async () => {
    const { url } = await started("--port", "0", "--key", KEY, "--strict");
    expect((await send({ url }, ask("hi", { n: 1 }))).status).toBe(400);
  });

  test("says so when the port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    closing.push(() => other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const { code, errors } = await ended("--port", String(port));
    expect(code).toBe(1);
    expect(errors).toContain(`Port ${port} is taken`);
    expect(errors).toContain("--port 0");
  });

  test.each([
    ["--port", "lots"],
    ["--port", "70000"],
    ["--speed", "fast"],
    ["--color"],
    ["--key="],
    ["--key", " "],
  ])("refuses %s %s", async (...args) => {
    const { code, errors } = await ended(...args);
    expect(code).toBe(1);
    expect(errors).toContain("--help");
  });

  test("explains itself with --help", async () => {
    const { code, output } = await ended("--help");
    expect(code).toBe(0);
    for (const option of ["--port", "--host", "--key", "--speed", "--cors", "--strict"])
      expect(output).toContain(option);
  });

  function run(args: readonly string[]) {
    const loader = new URL("source-loader.mjs", import.meta.url).href;
    const source = new URL("../src/cli.ts", import.meta.url).pathname;
    const command = spawn(process.execPath, ["--import", loader, source, ...args]);
    closing.push(() => command.kill("SIGKILL"));
    return command;
  }

  async function started(
    ...args: string[]
  ): Promise<{ command: ChildProcess; output: string; url: string; key: string }> {
    const command = run(args);
    let output = "";
    for await (const piece of command.stdout) {
      output += piece;
      if (output.includes("Stop it")) break;
    }
    const [url = ""] = /http:\/\/[\w.:]+/.exec(output) ?? [];
    const [, key = ""] = /key: (\S+)/.exec(output) ?? [];
    return { command, output, url, key };
  }

  async function ended(...args: string[]) {
    const command = run(args);
    const texts = { output: "", errors: "" };
    command.stdout.on("data", (piece) => (texts.output += piece));
    command.stderr.on("data", (piece) => (texts.errors += piece));
    const [code] = await once(command, "close");
    return { code, ...texts };
  }
});

test("an emulator serves nothing of its own accord", () => {
  expect(Object.keys(createEmulator({ apiKeys: [KEY] }))).toEqual(["fetch", "requests", "reset"]);
});
