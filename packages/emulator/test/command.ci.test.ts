import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { serve } from "@sluice/emulator/serve";
import { describe, expect, onTestFinished, test } from "vitest";
import { readLines, useCommand, writeScript } from "./command-support.js";
import { createFastEmulator, createRequest, KEY, readFrames, sendTo } from "./support.js";

/* Each option of the command, in a separate process. */

describe("the command", () => {
  const { run, start, runToEnd } = useCommand();

  test("accepts each key of --key", async () => {
    const { url } = await start("--port", "0", "--key", "sk-one", "--key", KEY, "--speed", "100");
    expect((await sendTo({ url }, createRequest("hi"))).status).toBe(200);
  });

  test("prints the deltas, the fault and the end of a stream", async () => {
    const { command, url } = await start("--port", "0", "--key", KEY, "--speed", "Infinity");
    const lines = readLines(command);
    await readFrames(
      await sendTo({ url }, createRequest("hi [[drop]]", { stream: true, model: "gamma-chat-1-6-251015" })),
    );
    expect(await lines.next()).toMatch(/ 200 .* connection broken after 8 deltas \[\[drop\]\]$/);
  });

  test("prints nothing for a request with --quiet", async () => {
    const { command, url } = await start("--port", "0", "--quiet");
    let printed = "";
    command.stdout?.on("data", (piece) => (printed += piece));
    await (await fetch(url)).text();
    command.kill("SIGTERM");
    await once(command, "close");
    expect(printed).not.toContain("GET");
  });

  test.each([
    ["not there", undefined, "can't be read"],
    ["not JSON", '{ "replies": [\n { "prompt" "hi" } ] }', "line 2"],
    ["wrong", '{ "replies": [{ "contnet": "hi" }] }', "replies.0.contnet is not a field of a reply"],
  ])("refuses a script that is %s, and names the file and the line", async (_, text, folder) => {
    const path = text === undefined ? "/nowhere.json" : writeScript(text);
    const { code, errors } = await runToEnd("--port", "0", "--script", path);
    expect(code).toBe(2);
    expect(errors).toContain(path);
    expect(errors).toContain(folder);
  });

  test("replays the exchanges that it recorded", async () => {
    const folder = join(dirname(writeScript({})), "recordings");
    const served = await serve(createFastEmulator(), { port: 0 });
    onTestFinished(served.close);
    const recorder = await start("--port", "0", "--record", served.url, "--recordings", folder);
    const lines = readLines(recorder.command);
    const sent = await (await sendTo(recorder, createRequest("hi", { stream: true }))).text();
    expect(await lines.next()).toMatch(/ 200 .* recorded as 0001-post-v1-chat-completions\.json$/);

    const player = await start("--port", "0", "--recordings", folder, "--speed", "Infinity");
    expect(await (await sendTo(player, createRequest("hi", { stream: true }))).text()).toBe(sent);
    expect((await sendTo(player, createRequest("hello", { stream: true }))).status).toBe(400);
    let errors = "";
    player.command.stderr?.on("data", (piece) => (errors += piece));
    player.command.kill("SIGTERM");
    expect(await once(player.command, "close")).toEqual([1, null]);
    expect(errors).toContain("1 of the requests had no recording");
    expect(errors).toContain(
      '0001-post-v1-chat-completions.json differs: messages.0.content was "hi", is "hello"',
    );
  });

  test.each([
    [["--record", "https://gateway.test"], "--recordings"],
    [["--record", "gateway.test", "--recordings", "recordings"], "address of the gateway"],
    [["--recordings", "/nowhere"], "/nowhere"],
    [["--recordings", "recordings", "--cors"], "--cors has no use here"],
    [["--recordings", "recordings", "--differs", "stream-done"], "--differs has no use here"],
    [["recordings"], "Unexpected argument 'recordings'"],
    [["--port", "lots"], "--help"],
    [["--port", "70000"], "--help"],
    [["--speed", "fast"], "--help"],
    [["--color"], "--help"],
    [["--key="], "--help"],
    [["--key", " "], "--help"],
  ])("ends with 2 for the arguments %j, and says why", async (args, text) => {
    const { code, errors } = await runToEnd(...args);
    expect(code).toBe(2);
    expect(errors).toContain(text);
  });

  test("prints its version", async () => {
    const { code, output } = await runToEnd("--version");
    expect([code, output]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });

  test("ends with 1 if the port is taken, and names --port 0", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const { code, errors } = await runToEnd("--port", String(port));
    expect(code).toBe(1);
    expect(errors).toContain(`Port ${port} is taken`);
    expect(errors).toContain("--port 0");
  });

  test("ends with 2 if the command beside the emulator does not exist, and names it", async () => {
    const { code, errors } = await runToEnd("--", "no-such-command");
    expect([code, errors]).toEqual([2, "Can't run no-such-command. Is it installed?\n"]);
    expect(await runToEnd("--")).toMatchObject({
      code: 2,
      errors: expect.stringContaining("needs a command"),
    });
  });

  test("ends the command beside the emulator when a signal ends the emulator", async () => {
    const wait = "console.log('waits'); setInterval(() => {}, 1000)";
    const command = run(["--", process.execPath, "--eval", wait]);
    await new Promise<void>((resolve) =>
      command.stdout.on("data", (piece) => String(piece).includes("waits") && resolve()),
    );
    command.kill("SIGTERM");
    const [code] = await once(command, "close");
    expect(code).toBe(143);
  });
});
