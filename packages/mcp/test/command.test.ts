import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { afterEach, describe, expect, test } from "vitest";
import { run } from "../src/command/run.js";

const leftovers: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of leftovers.splice(0)) await end();
});

const KEY = "sk-canary-0123456789abcdef";

/** Serves an emulator, and runs commands against it as a terminal does. */
async function opened(options: EmulatorOptions = {}) {
  const emulator = createEmulator({ apiKeys: [KEY], speed: Number.POSITIVE_INFINITY, ...options });
  const served = await serve(emulator, { port: 0 });
  const folder = await mkdtemp(join(tmpdir(), "sluice-command-"));
  leftovers.push(served.close, () => rm(folder, { recursive: true, force: true }));
  return { emulator, folder, sluice };

  async function sluice(
    args: readonly string[],
    { input = "", key = KEY, isTTY = false, signal = new AbortController().signal } = {},
  ) {
    let out = "";
    let err = "";
    const files = ["image", "video"].includes(args[0] ?? "") ? ["--out", folder] : [];
    const code = await run({
      args: [...args, ...files, "--base-url", served.url],
      env: { GATEWAY_API_KEY: key },
      signal,
      input: async () => input,
      out: { isTTY, write: (text) => (out += text) },
      err: { isTTY, write: (text) => (err += text) },
    });
    expect(out + err).not.toContain(KEY);
    return { code, out, err };
  }
}

describe("sluice chat", () => {
  test("writes the answer to the output, and nothing else", async () => {
    const { sluice } = await opened({ chat: () => "Light scatters." });
    expect(await sluice(["chat", "Why", "is the sky blue?"])).toEqual({
      code: 0,
      out: "Light scatters.\n",
      err: "",
    });
  });

  test("reads a question from the input, and sends instructions and fields", async () => {
    const { sluice, emulator } = await opened();
    const more = ["--system", "Be brief.", "--set", "max_tokens=99", "--model", "alpha-v4.1-flash"];
    expect((await sluice(["chat", "-", ...more], { input: "Hello\n" })).code).toBe(0);
    expect(emulator.requests[0]?.body).toMatchObject({
      model: "alpha-v4.1-flash",
      max_tokens: 99,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hello" },
      ],
    });
  });

  test("writes one JSON value with --json", async () => {
    const { sluice } = await opened({ chat: () => "Light scatters." });
    const { out } = await sluice(["chat", "Why?", "--json"]);
    expect(JSON.parse(out)).toMatchObject({
      text: "Light scatters.",
      outcome: "complete",
      model: "delta-5.3",
    });
  });

  test("says that an answer is not whole", async () => {
    const { sluice } = await opened();
    expect((await sluice(["chat", "A story [[length]]"])).err).toBe("The answer is not whole: length\n");
  });
});

test("case 216: words of a model cannot steer a terminal, and reach a file as they are", async () => {
  const { sluice } = await opened({ chat: () => "a\u001b]0;title\u0007\u009b2J\tb\nc" });
  expect((await sluice(["chat", "Hi"], { isTTY: true })).out).toBe("a]0;title2J\tb\nc\n");
  expect((await sluice(["chat", "Hi"])).out).toContain("\u001b]0;title");
});

describe("sluice image", () => {
  test("saves the picture, and writes its path", async () => {
    const { sluice, folder } = await opened();
    const { code, out } = await sluice(["image", "A reef", "--size", "2048x2048"]);
    const [file = ""] = await readdir(folder);
    expect([code, out]).toEqual([0, `${join(folder, file)}\n`]);
  });

  test("writes paths and links with --json", async () => {
    const { sluice, folder } = await opened();
    const { out, err } = await sluice(["image", "A reef", "--json"]);
    const [file = ""] = await readdir(folder);
    expect(JSON.parse(out).images).toEqual([
      { url: expect.stringMatching(/^http/), path: join(folder, file) },
    ]);
    expect(err).toBe("");
  });
});

describe("sluice video", () => {
  test("prints the id as soon as it is paid for, and saves the video", async () => {
    const { sluice, folder } = await opened();
    const { code, out, err } = await sluice(["video", "A reef", "--set", "parameters.duration=5"]);
    const [, id] = /Its id is (\S+)\n/.exec(err) ?? [];
    expect([code, out]).toEqual([0, `${join(folder, `video-${id}.mp4`)}\n`]);
  });

  test("goes on with --resume, without another task", async () => {
    const { sluice, emulator, folder } = await opened();
    const { out: id } = await sluice(["video", "A reef", "--no-wait"]);
    expect((await sluice(["video", "--resume", id.trim()])).code).toBe(0);
    expect(await readdir(folder)).toEqual([`video-${id.trim()}.mp4`]);
    expect(emulator.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("ends with 130 and says how to resume when it is stopped", async () => {
    const { sluice, emulator } = await opened({ speed: 1 });
    const stopped = new AbortController();
    const running = sluice(["video", "A reef"], { signal: stopped.signal });
    // the task is created, and polled once
    await expect.poll(() => emulator.requests.filter(({ finished }) => finished).length).toBe(2);
    stopped.abort(new Error("Stopped by SIGINT."));
    const { code, err } = await running;
    const [, id] = /Its id is (\S+)\n/.exec(err) ?? [];
    expect(code).toBe(130);
    expect(err).toContain(`Wait for it: sluice video --resume ${id}`);
  });

  test("ends with 1 and the reason when the task fails", async () => {
    const { sluice } = await opened();
    const { code, err } = await sluice(["video", "A reef [[fail]]"]);
    expect(code).toBe(1);
    expect(err).toMatch(/The video failed: \w[\s\S]*$/);
    expect(err).not.toContain("Nothing was billed");
  });
});

describe("The code at the end", () => {
  test.each([
    [2, [] as string[], "Name a command."],
    [2, ["paint"], "There is no command paint; there are chat, image, video, mcp, completion."],
    [2, ["image"], 'Say what: sluice image "A reef at dawn"'],
    [2, ["chat", "Hi", "--size", "2x2"], "--size has no use for chat."],
    [2, ["chat", "Hi", "--colour"], "Unknown option '--colour'"],
    [2, ["image", "Hi", "--model", "delta-5.3"], "delta-5.3 is no image model"],
    [2, ["image", "Hi", "--size", "1x1"], "size: must be one of this model's sizes"],
    [2, ["image", "Hi", "--set", "seed"], "--set seed: write it as field=value"],
    [2, ["video", "words", "--resume", "t"], "leave the words out"],
    [2, ["completion", "tcsh"], "Name a shell"],
    [1, ["chat", "Hi [[429]]"], "Nothing was billed."],
    [3, ["image", "Hi [[drop]]"], "It may be billed."],
    [3, ["chat", "Hi [[drop]]"], "It may be billed."],
  ])("is %i for sluice %j", async (code, args, says) => {
    const { sluice } = await opened();
    const { err, ...result } = await sluice(args);
    expect(err).toContain(says);
    expect(result.code).toBe(code);
    expect(result.out).not.toContain(says);
  });

  test("is 1 for a key that is refused, and the key is not shown", async () => {
    const { sluice } = await opened();
    const wrong = "sk-wrong-canary-99999999";
    const { code, err } = await sluice(["chat", "Hi"], { key: wrong });
    expect(code).toBe(1);
    expect(err).not.toContain(wrong);
  });

  test("is in the JSON of an error, too", async () => {
    const { sluice } = await opened();
    const { out } = await sluice(["image", "Hi [[drop]]", "--json"]);
    expect(JSON.parse(out)).toMatchObject({
      code: 3,
      error: { name: "ConnectionError", outcome: "unknown" },
    });
  });
});

test("Help names each command, each code and the environment, and completion each option", async () => {
  const { sluice } = await opened();
  const { out } = await sluice(["--help"]);
  for (const name of ["chat", "image", "video", "mcp", "completion", "GATEWAY_API_KEY", "PROXY_TOKEN", "130"])
    expect(out).toContain(name);
  for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  for (const shell of ["bash", "zsh", "fish"]) {
    const script = (await sluice(["completion", shell])).out;
    for (const word of ["resume", "base-url", "beta3.0-video"]) expect(script).toContain(word);
  }
});
