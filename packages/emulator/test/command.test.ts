import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { readLines, useCommand, writeScript } from "./command-support.js";
import { createRequest, KEY, readFrames, sendTo } from "./support.js";

/* The command as a process. `command.ci.test.ts` tests its options one by one. */

describe("the command", () => {
  const { start, runToEnd } = useCommand();

  test("prints its address, the key and a request that works when pasted", async () => {
    const { output, url, key } = await start("--port", "0", "--speed", "Infinity");
    expect(key).toMatch(/^sk-sluice-\w{24}$/);
    expect(output).toContain("Ctrl+C");
    const line = output.split("\n").find((text) => text.startsWith("curl ")) ?? "";
    expect(line).toContain(`${url}/v1/chat/completions`);
    const [body = ""] = /(?<=-d ')[^']+/.exec(line) ?? [];
    const headers = Object.fromEntries(
      [...line.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name, value]) => [name, value]),
    );
    const { frames } = await readFrames(await sendTo({ url }, {}, { headers, body }));
    expect(frames.at(-1)).toBe("[DONE]");
  });

  test.each(["SIGINT", "SIGTERM"] as const)("ends on %s, with or without open streams", async (signal) => {
    const { command, url } = await start("--port", "0", "--key", KEY);
    const response = await sendTo({ url }, createRequest("hi [[stall]]", { stream: true }));
    const reading = readFrames(response);
    command.kill(signal);
    expect(await once(command, "exit")).toEqual([0, null]);
    expect((await reading).failure).toBeInstanceOf(TypeError);
  });

  test("prints a line for each request, without the key", async () => {
    const key = "sk-line-canary";
    const { command, url } = await start("--port", "0", "--key", key, "--speed", "Infinity");
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const lines = readLines(command);
    await (await sendTo({ url }, createRequest("hi", { n: 1 }), { headers })).text();
    expect(await lines.next()).toMatch(
      /^\d\d:\d\d:\d\d {2}POST {2}\/v1\/chat\/completions .* alpha-v4\.1-flash .* 200 .* finished; not in the specification: n$/,
    );
    await sendTo({ url }, createRequest(`hi ${key}`, { model: key }), { headers });
    const refused = await lines.next();
    expect(refused).toMatch(/ {2}\[redacted\] .* 400 .* model must be one of/);
    await (await fetch(`${url}/v1/${key}?key=${key}`)).text();
    const unknown = await lines.next();
    expect(unknown).toMatch(/GET {3}\/v1\/\[redacted\] .* 404 /);
    expect(refused + unknown).not.toContain("canary");
  });

  test("responds as a script says", async () => {
    const path = writeScript({ replies: [{ prompt: "weather", content: "It rains." }] });
    const { url } = await start("--port", "0", "--key", KEY, "--speed", "Infinity", "--script", path);
    expect(await (await sendTo({ url }, createRequest("The weather?"))).json()).toMatchObject({
      choices: [{ message: { content: "It rains." } }],
    });
  });

  test("serves each known fault at its address, and lists them with --faults", async () => {
    const { url } = await start("--port", "0", "--quiet");
    const response = await sendTo({ url: `${url}/faults/refused-key` }, createRequest("hi"));
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { error: { code: "invalid_api_key" } },
    ]);
    const { code, output } = await runToEnd("--faults");
    expect(code).toBe(0);
    const { faults } = (await (await fetch(`${url}/faults`)).json()) as { faults: { name: string }[] };
    for (const { name } of faults) expect(output).toContain(name);
    expect(output.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  test("breaks assumptions of the client with --differs", async () => {
    const { url } = await start(
      "--port",
      "0",
      "--key",
      KEY,
      "--speed",
      "Infinity",
      "--differs",
      "stream-done, stream-id",
    );
    const { frames } = await readFrames(await sendTo({ url }, createRequest("hi", { stream: true })));
    expect(frames).not.toContain("[DONE]");
    const { code, errors } = await runToEnd("--differs", "stream-dome");
    expect([code, errors]).toEqual([2, expect.stringContaining('there is no "stream-dome"')]);
  });

  test("explains itself with --help", async () => {
    const { code, output } = await runToEnd("--help");
    expect(code).toBe(0);
    for (const option of [
      "--port",
      "--host",
      "--key",
      "--speed",
      "--cors",
      "--differs",
      "--script",
      "--quiet",
      "--record",
      "--recordings",
      "--faults",
    ])
      expect(output).toContain(option);
    expect(output.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  test("a command beside the emulator finds the gateway in its environment, and its exit code is returned", async () => {
    const ask = `const { GATEWAY_URL: url, GATEWAY_API_KEY: key } = process.env;
    const response = await fetch(url + "/v1/video/generations/none", { headers: { authorization: "Bearer " + key } });
    console.log(response.status, process.argv[1]);
    process.exit(7);`;
    const node = [process.execPath, "--input-type=module", "--eval", ask];
    const { code, output } = await runToEnd("--quiet", "--", ...node, "--", "--port=none");
    expect([code, output]).toEqual([7, expect.stringContaining("404 --port=none")]);
  });

  test("an OpenAI client in a command beside the emulator needs no settings", async () => {
    const ask = `const { OPENAI_BASE_URL: url, OPENAI_API_KEY: key } = process.env;
    fetch(url + "/chat/completions", {
      method: "POST",
      headers: { authorization: "Bearer " + key, "content-type": "application/json" },
      body: JSON.stringify({ model: "alpha-v4.1-flash", messages: [{ role: "user", content: "hi" }] }),
    }).then(({ status }) => console.log(status));`;
    const { output } = await runToEnd("--quiet", "--speed=Infinity", "--", process.execPath, "--eval", ask);
    expect(output).toMatch(/^200$/m);
  });
});
