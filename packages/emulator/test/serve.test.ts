import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import { build } from "vite";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
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

  test("headers arrive before the first frame is made", async () => {
    let frame = (_: string) => {};
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        frame = (text) => controller.enqueue(new TextEncoder().encode(text));
      },
    });
    const served = await serve({ fetch: async () => new Response(body) }, { port: 0 });
    closing.push(served.close);
    const response = await fetch(served.url);
    frame("one");
    const { value } = (await response.body?.getReader().read()) ?? {};
    expect(new TextDecoder().decode(value)).toBe("one");
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
      { interval: 200, timeout: 50_000 },
    );
    expect(count()).toBeLessThan(200_000);
    expect(emulator.requests[0]?.finished).toBe(false);
  });

  test("a client that leaves ends the body of a handler that ignores the request's signal", async () => {
    const piece = new Uint8Array(1000);
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const body = () => new ReadableStream({ pull: (stream) => stream.enqueue(piece), cancel: leave });
    const served = await serve({ fetch: async () => new Response(body()) }, { port: 0 });
    closing.push(served.close);
    const reader = (await fetch(served.url)).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await left;
  });

  test.each(["cancels", "leaves", "reads a piece and cancels"])(
    "An answer that refuses a body reaches its client, where the handler %s",
    async (act) => {
      let isFirst = true;
      const fetch = async (request: Request) => {
        if (!isFirst) return new Response(`then ${await request.text()}`);
        isFirst = false;
        const reader = act === "leaves" ? undefined : request.body?.getReader();
        if (act === "reads a piece and cancels") await reader?.read();
        await reader?.cancel();
        return new Response("refused", { status: 413 });
      };
      const served = await serve({ fetch }, { port: 0 });
      closing.push(served.close);
      const socket = connect(Number(new URL(served.url).port), "127.0.0.1");
      closing.push(() => socket.destroy());
      let text = "";
      socket.setEncoding("utf8").on("data", (piece) => (text += piece));
      const headers = (bytes: number) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`;
      socket.write(headers(3_000_000) + "a".repeat(1_000_000));
      await expect.poll(() => text).toContain("refused");
      // the connection goes on with the next request, once the rest has come
      socket.write(`${"a".repeat(2_000_000)}${headers(2)}hi`);
      await expect.poll(() => text).toContain("then hi");
    },
  );

  test("A server survives a body that its handler cancels while it comes", async () => {
    let turns = 0;
    const fetched = async (request: Request) => {
      for (let turn = 0; turn < turns; turn += 1) await undefined;
      await request.body?.cancel();
      return new Response("refused", { status: 413 });
    };
    const served = await serve({ fetch: fetched }, { port: 0 });
    closing.push(served.close);
    for (; turns < 40; turns += 1) {
      const answer = await fetch(served.url, { method: "POST", body: "a".repeat(1000) });
      expect([answer.status, await answer.text()]).toEqual([413, "refused"]);
    }
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
  let folder = "";
  beforeAll(async () => {
    folder = await bundleCommand();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

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

  test("prints a line for each request, without the key", async () => {
    const key = "sk-line-canary";
    const { command, url } = await started("--port", "0", "--key", key, "--speed", "Infinity");
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const lines = linesOf(command);
    await (await send({ url }, ask("hi", { n: 1 }), { headers })).text();
    expect(await lines.next()).toMatch(
      /^\d\d:\d\d:\d\d {2}POST {2}\/v1\/chat\/completions .* alpha-v4\.1-flash .* 200 .* finished; not in the specification: n$/,
    );
    await send({ url }, ask(`hi ${key}`, { model: key }), { headers });
    const refused = await lines.next();
    expect(refused).toMatch(/ {2}\[redacted\] .* 400 .* model must be one of/);
    await (await fetch(`${url}/v1/${key}?key=${key}`)).text();
    const unknown = await lines.next();
    expect(unknown).toMatch(/GET {3}\/v1\/\[redacted\] .* 404 /);
    expect(refused + unknown).not.toContain("canary");
  });

  test("prints the deltas, the scene and the end of a stream", async () => {
    const { command, url } = await started("--port", "0", "--key", KEY, "--speed", "Infinity");
    const lines = linesOf(command);
    await readFrames(
      await send({ url }, ask("hi [[drop]]", { stream: true, model: "gamma-chat-1-6-251015" })),
    );
    expect(await lines.next()).toMatch(/ 200 .* connection broken after 8 deltas \[\[drop\]\]$/);
  });

  test("prints nothing for a request with --quiet", async () => {
    const { command, url } = await started("--port", "0", "--quiet");
    let printed = "";
    command.stdout?.on("data", (piece) => (printed += piece));
    await (await fetch(url)).text();
    command.kill("SIGTERM");
    await once(command, "close");
    expect(printed).not.toContain("GET");
  });

  test("answers as a script says", async () => {
    const path = writeScript({ answers: [{ prompt: "weather", content: "It rains." }] });
    const { url } = await started("--port", "0", "--key", KEY, "--speed", "Infinity", "--script", path);
    expect(await (await send({ url }, ask("The weather?"))).json()).toMatchObject({
      choices: [{ message: { content: "It rains." } }],
    });
  });

  test.each([
    ["not there", undefined, "can't be read"],
    ["not JSON", '{ "answers": [\n { "prompt" "hi" } ] }', "line 2"],
    ["wrong", '{ "answers": [{ "contnet": "hi" }] }', "answers.0.contnet is not a field of an answer"],
  ])("refuses a script that is %s, with its file and place", async (_, text, place) => {
    const path = text === undefined ? "/nowhere.json" : writeScript(text);
    const { code, errors } = await ended("--port", "0", "--script", path);
    expect(code).toBe(1);
    expect(errors).toContain(path);
    expect(errors).toContain(place);
  });

  test("records, replays and checks what it recorded", async () => {
    const folder = join(dirname(writeScript({})), "tapes");
    const { served } = await serveEmulator();
    const recorder = await started("--port", "0", "--record", served.url, "--tape", folder);
    const lines = linesOf(recorder.command);
    const sent = await (await send(recorder, ask("hi", { stream: true }))).text();
    expect(await lines.next()).toMatch(/ 200 .* recorded as 0001-post-v1-chat-completions\.json$/);

    const player = await started("--port", "0", "--tape", folder, "--speed", "Infinity");
    expect(await (await send(player, ask("hi", { stream: true }))).text()).toBe(sent);
    expect((await send(player, ask("hello", { stream: true }))).status).toBe(400);
    let errors = "";
    player.command.stderr?.on("data", (piece) => (errors += piece));
    player.command.kill("SIGTERM");
    expect(await once(player.command, "close")).toEqual([1, null]);
    expect(errors).toContain("1 of the requests had no tape");
    expect(errors).toContain(
      '0001-post-v1-chat-completions.json differs: messages.0.content was "hi", is "hello"',
    );

    const { code, output } = await ended("check", folder);
    expect([code, output]).toEqual([0, expect.stringContaining("1 tape: 0 differences")]);
  });

  test.each([
    [["--record", "https://gateway.test"], "--tape"],
    [["--record", "gateway.test", "--tape", "tapes"], "address of the gateway"],
    [["--tape", "/nowhere"], "/nowhere"],
    [["--tape", "tapes", "--strict"], "--strict has no use here"],
    [["check"], "check <folder>"],
    [["chekc", "tapes"], "check <folder>"],
  ])("refuses %j", async (args, place) => {
    const { code, errors } = await ended(...args);
    expect(code).toBe(1);
    expect(errors).toContain(place);
  });

  test("prints its version", async () => {
    const { code, output } = await ended("--version");
    expect([code, output]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
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
    for (const option of [
      "--port",
      "--host",
      "--key",
      "--speed",
      "--cors",
      "--strict",
      "--script",
      "--quiet",
      "--record",
      "--tape",
      "check",
    ])
      expect(output).toContain(option);
  });

  test("a command beside the emulator finds the gateway in its environment, and its exit code is the end", async () => {
    const ask = `const { GATEWAY_URL: url, GATEWAY_API_KEY: key } = process.env;
      const answer = await fetch(url + "/v1/video/generations/none", { headers: { authorization: "Bearer " + key } });
      console.log(answer.status, process.argv[1]);
      process.exit(7);`;
    const node = [process.execPath, "--input-type=module", "--eval", ask];
    const { code, output } = await ended("--quiet", "--", ...node, "--", "--port=none");
    expect([code, output]).toEqual([7, expect.stringContaining("404 --port=none")]);
  });

  test("a command beside the emulator that is not there ends it in words", async () => {
    const { code, errors } = await ended("--", "no-such-command");
    expect([code, errors]).toEqual([1, "Can't run no-such-command. Is it installed?\n"]);
    expect(await ended("--")).toMatchObject({ code: 1, errors: expect.stringContaining("needs a command") });
  });

  test("a signal ends the command beside the emulator, too", async () => {
    const wait = "console.log('waits'); setInterval(() => {}, 1000)";
    const command = run(["--", process.execPath, "--eval", wait]);
    await new Promise<void>((resolve) =>
      command.stdout.on("data", (piece) => String(piece).includes("waits") && resolve()),
    );
    command.kill("SIGTERM");
    const [code] = await once(command, "close");
    expect(code).toBe(143);
  });

  /** Next lines that a command prints, one by one. */
  function linesOf(command: ChildProcess) {
    const lines = createInterface({ input: command.stdout as Readable })[Symbol.asyncIterator]();
    return { next: async () => (await lines.next()).value as string };
  }

  function writeScript(script: object | string): string {
    const folder = mkdtempSync(join(tmpdir(), "sluice-script-"));
    closing.push(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "answers.json"), typeof script === "string" ? script : JSON.stringify(script));
    return join(folder, "answers.json");
  }

  function run(args: readonly string[]) {
    const command = spawn(process.execPath, [join(folder, "cli.mjs"), ...args]);
    closing.push(() => command.kill("SIGKILL"));
    return command;
  }

  async function started(
    ...args: string[]
  ): Promise<{ command: ChildProcess; output: string; url: string; key: string }> {
    const command = run(args);
    let output = "";
    // an iterator would close the stream behind the greeting
    await new Promise<void>((resolve) => {
      command.stdout.on("data", function read(piece) {
        output += piece;
        if (!output.includes("Stop it")) return;
        command.stdout.off("data", read);
        resolve();
      });
    });
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
  expect(Object.keys(createEmulator({ apiKeys: [KEY] }))).toEqual([
    "fetch",
    "clientOptions",
    "requests",
    "reset",
  ]);
});

/** Builds the command from the sources as one file, which starts much faster than they do; returns its folder. */
async function bundleCommand(): Promise<string> {
  const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  // as deep as `dist/command`, from where it reads its version
  const folder = mkdtempSync(here("../node_modules/.command-"));
  await build({
    configFile: false,
    logLevel: "error",
    resolve: {
      alias: [
        { find: /^@sluice\/core\/([\w-]+)$/, replacement: here("../../core/src/entries/$1.ts") },
        { find: /^@sluice\/core$/, replacement: here("../../core/src/entries/index.ts") },
      ],
    },
    ssr: { noExternal: true },
    build: {
      ssr: here("../src/cli.ts"),
      outDir: folder,
      minify: false,
      target: "node22",
      rolldownOptions: { output: { entryFileNames: "cli.mjs", codeSplitting: false } },
    },
  });
  return folder;
}
