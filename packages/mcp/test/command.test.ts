import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { ClientOptions } from "@sluice/core";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { afterEach, describe, expect, test, vi } from "vitest";
import { run } from "../src/command/run.js";

const leftovers: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const end of leftovers.splice(0)) await end();
});

const KEY = "sk-canary-0123456789abcdef";

/** Serves an emulator, and runs commands against it as a terminal does. */
async function openEmulator(options: EmulatorOptions = {}) {
  const emulator = createEmulator({ apiKeys: [KEY], speed: Number.POSITIVE_INFINITY, ...options });
  const served = await serve(emulator, { port: 0 });
  const folder = await mkdtemp(join(tmpdir(), "sluice-command-"));
  leftovers.push(served.close, () => rm(folder, { recursive: true, force: true }));
  return { emulator, folder, runSluice };

  async function runSluice(
    args: readonly string[],
    {
      input = "",
      hasInput = false,
      key = KEY,
      isTTY = false,
      columns = 80,
      signal = new AbortController().signal,
      client = {} as Partial<ClientOptions>,
    } = {},
  ) {
    let out = "";
    let err = "";
    let screen = "";
    const writeOut = (text: string) => {
      out += text;
      screen += text;
    };
    const writeErr = (text: string) => {
      err += text;
      screen += text;
    };
    const isMedia = ["image", "video"].includes(args[0] ?? "");
    const files = isMedia && !args.includes("--out") ? ["--out", folder] : [];
    const code = await run({
      args: args.includes("--base-url") ? [...args, ...files] : [...args, ...files, "--base-url", served.url],
      env: { GATEWAY_API_KEY: key },
      client,
      signal,
      hasInput,
      input: async () => input,
      out: { isTTY, columns, write: writeOut },
      err: { isTTY, columns, write: writeErr },
    });
    expect(out + err).not.toContain(KEY);
    return { code, out, err, screen };
  }
}

describe("sluice chat", () => {
  test("writes only the message to the output", async () => {
    const { runSluice } = await openEmulator({ chat: () => "Light scatters." });
    const { code, out, err } = await runSluice(["chat", "Why", "is the sky blue?"]);
    expect([code, out, err]).toEqual([0, "Light scatters.\n", ""]);
  });

  test("reads a question from the input, and sends instructions and fields", async () => {
    const { runSluice, emulator } = await openEmulator();
    const more = ["--system", "Be brief.", "--set", "max_tokens=99", "--model", "alpha-v4.1-flash"];
    expect((await runSluice(["chat", "-", ...more], { input: "Hello\n" })).code).toBe(0);
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
    const { runSluice } = await openEmulator({ chat: () => "Light scatters." });
    const { out } = await runSluice(["chat", "Why?", "--json"]);
    expect(JSON.parse(out)).toMatchObject({
      text: "Light scatters.",
      outcome: "complete",
      model: "delta-5.3",
    });
  });

  test.each([
    [["-"], "Notes"],
    [["-", "Summarize"], "Notes\n\nSummarize"],
    [["Summarize", "-"], "Summarize\n\nNotes"],
    [["a", "-", "b"], "a - b"],
  ])("reads the input if %j begins or ends with -", async (words, content) => {
    const { runSluice, emulator } = await openEmulator();
    await runSluice(["chat", ...words], { input: "Notes\n", hasInput: true });
    expect(emulator.requests[0]?.body).toMatchObject({ messages: [{ role: "user", content }] });
  });

  test("says that an input is not read without a -", async () => {
    const { runSluice } = await openEmulator();
    expect((await runSluice(["chat", "Summarize"], { input: "Notes", hasInput: true })).err).toBe(
      'The input is not read. To send it, too, add a -: sluice chat "…" -\n',
    );
    expect((await runSluice(["chat", "Summarize"])).err).toBe("");
  });

  test("sends a model that this version does not know, and says so", async () => {
    const { runSluice, emulator } = await openEmulator();
    const { err } = await runSluice(["chat", "Hi", "--model", "delta-5.4"]);
    expect(err).toMatch(/^This version does not know the model delta-5\.4, .* did you mean `delta-5\.3`\?\n/);
    expect(emulator.requests[0]?.body).toMatchObject({ model: "delta-5.4" });
  });

  test("says that a message was interrupted, and shows the beginning", async () => {
    const { runSluice } = await openEmulator({ chat: () => "One two three four five six seven eight" });
    const { code, out, err } = await runSluice(["chat", "Count [[truncate]]"]);
    expect([code, out]).toEqual([3, expect.stringMatching(/^One two.*\n$/)]);
    expect(err).toMatch(/what came is above\nIt may be billed/);
    const json = JSON.parse((await runSluice(["chat", "Count [[truncate]]", "--json"])).out);
    expect(json.error.text).toMatch(/^One two/);
  });
});

describe("The exit code 5 and an error in the JSON report a paid but incomplete result:", () => {
  test.each([
    ["[[length]]", "The response was cut: it reached max_tokens."],
    ["[[filter]]", "The response was cut by the content filter."],
  ])("a chat with %s", async (fault, text) => {
    const { runSluice } = await openEmulator();
    const { code, err } = await runSluice(["chat", `A story ${fault}`]);
    expect([code, err]).toEqual([5, `${text}\n`]);
    const json = await runSluice(["chat", `A story ${fault}`, "--json"]);
    expect([json.code, JSON.parse(json.out).error.message]).toEqual([5, text]);
  });

  test("one refused image of three", async () => {
    const fetch = async (request: Request) => {
      if (request.method !== "POST") return new Response(PNG, { headers: { "content-type": "image/png" } });
      const createImage = (n: number) => ({ url: `https://files.example/${n}.png` });
      return Response.json({ data: [createImage(1), { error: { message: "not allowed" } }, createImage(3)] });
    };
    const { runSluice, folder } = await openEmulator();
    const { code, out, err } = await runSluice(["image", "Reefs"], { client: { fetch } });
    expect(code).toBe(5);
    expect(out).toMatch(/-1-[\da-f]{8}\.png\nNot made: not allowed\n.*-3-[\da-f]{8}\.png\n$/);
    expect(err).toContain("1 of 3 images were not made or not saved.\n");
    const { error, images } = JSON.parse(
      (await runSluice(["image", "Reefs", "--json"], { client: { fetch } })).out,
    );
    expect([error.name, images[1]]).toEqual(["InPart", { error: "not allowed" }]);
    expect(await readdir(folder)).toHaveLength(4);
  });

  test.each(["image", "video"])("a file of sluice %s that could not be saved", async (command) => {
    const fetch = async (request: Request) => {
      const url = "https://files.example/gone.mp4";
      if (request.url === url) return new Response("gone", { status: 410 });
      if (request.url.endsWith("/v1/images/generations")) return Response.json({ data: [{ url }] });
      if (request.method === "POST") return Response.json({ task_id: "t-1" });
      return Response.json({ code: "success", data: { status: "SUCCESS", result_url: url } });
    };
    const { runSluice } = await openEmulator();
    const plain = await runSluice([command, "A reef"], { client: { fetch } });
    expect(plain.code).toBe(5);
    expect(plain.out).toMatch(/^https:\/\/files\.example\/gone\.mp4 \(it could not be saved/);
    const json = await runSluice([command, "A reef", "--json"], { client: { fetch } });
    expect([json.code, JSON.parse(json.out).error.name]).toEqual([
      5,
      expect.stringMatching(/InPart|NotSaved/),
    ]);
    expect(json.out).toContain("410");
  });
});

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "base64");

describe("Before anything is paid,", () => {
  test.each([
    ["image", "/proc/sluice"],
    ["video", "/proc/sluice"],
    ["image", "a-file/reefs"],
    ["video", "a-file"],
    ["mcp", "/proc/sluice"],
  ])("sluice %s ends for the impossible folder %s", async (command, path) => {
    const { runSluice, folder, emulator } = await openEmulator();
    await writeFile(join(folder, "a-file"), "x");
    const option = command === "mcp" ? ["--folder"] : ["A reef", "--out"];
    const { code, err } = await runSluice([command, ...option, resolve(folder, path)]);
    expect(code).toBe(2);
    expect(err).toMatch(
      /^No files can be saved in .*\nNothing was sent\. See sluice (image|video|mcp) --help\.\n$/,
    );
    expect(emulator.requests).toEqual([]);
  });

  test("a request that breaks a rule prints no text about waiting", async () => {
    const { runSluice } = await openEmulator();
    expect((await runSluice(["image", "A reef", "--size", "1x1"])).err).not.toContain("Generating");
    expect((await runSluice(["image", "A reef"])).err).toBe("Generating\n");
  });

  test.each([
    ["http://127.0.0.1:1", "Nothing listens at 127.0.0.1:1."],
    ["refused", "Nothing listens at 127.0.0.1:"],
    ["http://no-such-host.invalid", "There is no host no-such-host.invalid."],
  ])("the wrong base URL %s is reported", async (address, text) => {
    const { runSluice } = await openEmulator();
    const closed = address === "refused" ? await serve(createEmulator(), { port: 0 }) : undefined;
    await closed?.close();
    const url = closed?.url ?? address;
    const client = { retry: { limit: 0 } };
    for (const command of ["chat", "image", "video"]) {
      const { code, err } = await runSluice([command, "Hi", "--base-url", url], { client });
      expect([code, err]).toEqual([1, expect.stringContaining(text)]);
      expect(err).toMatch(/Nothing was billed\.\n$/);
    }
  });
});

test("a terminal shows how long the first word takes, and then only the message", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const { runSluice, emulator } = await openEmulator({ speed: 1, chat: () => "Hello" });
  const running = runSluice(["chat", "Hi"], { isTTY: true });
  await expect.poll(() => emulator.requests.length).toBe(1);
  vi.advanceTimersByTime(1000);
  const { screen } = await running;
  expect(screen.split("\r\u001b[2K")).toEqual(["", expect.stringMatching(/^Waiting {2}0:0\d$/), "Hello\n"]);
});

test("text of a model cannot steer a terminal, and reaches a file unchanged (case 216)", async () => {
  const { runSluice } = await openEmulator({ chat: () => "a\u001b]0;title\u0007\u009b2J\tb\nc" });
  expect((await runSluice(["chat", "Hi"], { isTTY: true })).out).toBe("a]0;title2J\tb\nc\n");
  expect((await runSluice(["chat", "Hi"])).out).toContain("\u001b]0;title");
});

describe("sluice image", () => {
  test("saves the image, and writes its path", async () => {
    const { runSluice, folder } = await openEmulator();
    const { code, out } = await runSluice(["image", "A reef", "--size", "2048x2048"]);
    const [file = ""] = await readdir(folder);
    expect([code, out]).toEqual([0, `${join(folder, file)}\n`]);
  });

  test("shows the elapsed seconds on a terminal while the image is made", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    let now = 0;
    const clock = { now: () => now, sleep: () => new Promise<void>(() => {}) };
    const { runSluice, emulator } = await openEmulator({ speed: 1, durations: { imageMs: 400 } });
    const running = runSluice(["image", "A reef"], { isTTY: true, client: { clock } });
    await expect.poll(() => emulator.requests.length).toBe(1);
    now = 65_000;
    vi.advanceTimersByTime(1000);
    const { err } = await running;
    expect(err).toContain("\r\u001b[2KGenerating  0:00\r\u001b[2KGenerating  1:05\n");
  });

  test("writes paths and links with --json", async () => {
    const { runSluice, folder } = await openEmulator();
    const { out, err } = await runSluice(["image", "A reef", "--json"]);
    const [file = ""] = await readdir(folder);
    expect(JSON.parse(out).images).toEqual([
      { url: expect.stringMatching(/^http/), path: join(folder, file) },
    ]);
    expect(err).toBe("");
  });
});

describe("sluice video", () => {
  test("prints the id as soon as the video has started, and saves the video", async () => {
    const { runSluice, folder } = await openEmulator();
    const { code, out, err } = await runSluice(["video", "A reef", "--set", "parameters.duration=5"]);
    const [, id] = /Its id is (\S+)\n/.exec(err) ?? [];
    const [file = ""] = await readdir(folder);
    expect(file).toMatch(new RegExp(`^video-${id}-[\\da-f]{8}\\.mp4$`));
    expect([code, out]).toEqual([0, `${join(folder, file)}\n`]);
  });

  test.each([32, 80, 200])("ends its bar before the path of the file, at %i columns", async (columns) => {
    const { runSluice, folder } = await openEmulator();
    const { screen } = await runSluice(["video", "A reef"], { isTTY: true, columns });
    const [file = ""] = await readdir(folder);
    const lines = screen.split("\n");
    expect(lines.at(-2)).toBe(join(folder, file));
    const steps = lines.slice(1, -2).flatMap((line) => line.split("\r\u001b[2K").filter(Boolean));
    expect(steps.at(-1)).toMatch(/100 % {2}succeeded {2}0:0\d$/);
    for (const step of steps) expect(step.length).toBeLessThan(columns);
  });

  test("ends with 1 for an id that the gateway does not know", async () => {
    const { runSluice } = await openEmulator();
    const { code, err } = await runSluice(["video", "--resume", "nope"], { client: { clock: shortWaits } });
    expect(code).toBe(1);
    expect(err).toMatch(/^No task with this id: the gateway does not know nope\. Check the id\./);
    const { out } = await runSluice(["video", "--resume", "nope", "--json"], {
      client: { clock: shortWaits },
    });
    expect(JSON.parse(out)).toMatchObject({ code: 1, error: { name: "NoTask" } });
  });

  test("does not claim that an unknown video continues", async () => {
    const { runSluice, emulator } = await openEmulator({ speed: 1 });
    const stopped = new AbortController();
    const running = runSluice(["video", "--resume", "nope"], { signal: stopped.signal });
    await expect.poll(() => emulator.requests.filter(({ finished }) => finished).length).toBe(1);
    stopped.abort(new Error("Stopped by SIGINT."));
    const { code, err } = await running;
    expect(code).toBe(130);
    expect(err).toContain("The gateway has not responded for this id.");
    expect(err).not.toContain("continues");
  });

  test("continues with --resume, without another task", async () => {
    const { runSluice, emulator, folder } = await openEmulator();
    const { out: id } = await runSluice(["video", "A reef", "--no-wait"]);
    expect((await runSluice(["video", "--resume", id.trim()])).code).toBe(0);
    expect(await readdir(folder)).toEqual([expect.stringMatching(`^video-${id.trim()}-`)]);
    expect(emulator.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("ends with 130 and says how to resume when it is stopped", async () => {
    const { runSluice, emulator } = await openEmulator({ speed: 1 });
    const stopped = new AbortController();
    const running = runSluice(["video", "A reef"], { signal: stopped.signal });
    // the task is created, and polled once
    await expect.poll(() => emulator.requests.filter(({ finished }) => finished).length).toBe(2);
    stopped.abort(new Error("Stopped by SIGINT."));
    const { code, err } = await running;
    const [, id] = /Its id is (\S+)\n/.exec(err) ?? [];
    expect(code).toBe(130);
    expect(err).toContain(`Wait for it: sluice video --resume ${id}`);
  });

  test("ends with 1 and the reason when the task fails", async () => {
    const { runSluice } = await openEmulator();
    const { code, err } = await runSluice(["video", "A reef [[fail]]"]);
    expect(code).toBe(1);
    expect(err).toMatch(/The video failed: \w[\s\S]*$/);
    expect(err).not.toContain("Nothing was billed");
  });
});

describe("The exit code", () => {
  test.each([
    [
      2,
      [] as string[],
      "Name a command: chat, image, video, doctor, mcp\nNothing was sent. See sluice --help.",
    ],
    [2, ["paint"], "There is no command paint. The commands are chat, image, video, doctor, mcp"],
    [2, ["paint", "--help"], "There is no command paint. The commands are"],
    [2, ["vidoe"], "There is no command vidoe; did you mean video?\nNothing was sent. See sluice --help."],
    [2, ["chat"], 'Write a message: sluice chat "Why is the sky blue?"'],
    [2, ["image"], 'Describe the image: sluice image "A reef at dawn"'],
    [2, ["video"], 'Describe the video: sluice video "A reef at dawn"'],
    [2, ["video", "--resume", ""], "--resume needs the id of a video"],
    [2, ["video", "A reef", "--set", "duration=999"], "Write --set parameters.duration=999"],
    [
      2,
      ["chat", "Hi", "--size", "2x2"],
      "--size has no use for chat.\nNothing was sent. See sluice chat --help.",
    ],
    [2, ["chat", "Hi", "--colour"], "There is no option --colour. Write -- before a text that begins with -"],
    [2, ["chat", "Hi", "--sytem", "x"], "There is no option --sytem; did you mean --system?"],
    [2, ["chat", "Hi", "--model"], "--model needs a value: --model <value>"],
    [2, ["chat", "Hi", "--json=yes"], "--json takes no value."],
    [2, ["image", "Hi", "--model", "delta-5.3"], "delta-5.3 is not a model for images"],
    [2, ["image", "Hi", "--size", "1x1"], "size: must be one of this model's sizes"],
    [2, ["image", "Hi", "--set", "seed"], "--set seed: write it as field=value"],
    [2, ["video", "words", "--resume", "t"], "leave the words out"],
    // the emulator refuses an unknown fault
    [1, ["chat", "Hi [[no-such-fault]]"], "Nothing was billed."],
    [3, ["image", "Hi [[drop]]"], "It may be billed."],
    [3, ["chat", "Hi [[drop]]"], "It may be billed."],
  ])("is %i for sluice %j", async (code, args, text) => {
    const { runSluice } = await openEmulator();
    const { err, ...result } = await runSluice(args);
    expect(err).toContain(text);
    expect(result.code).toBe(code);
    expect(result.out).not.toContain(text);
  });

  test("is 1 for a refused key, which is not shown", async () => {
    const { runSluice } = await openEmulator();
    const wrong = "sk-wrong-canary-99999999";
    const { code, err } = await runSluice(["chat", "Hi"], { key: wrong });
    expect(code).toBe(1);
    expect(err).not.toContain(wrong);
  });

  test("is in the JSON of an error, too", async () => {
    const { runSluice } = await openEmulator();
    const { out } = await runSluice(["image", "Hi [[drop]]", "--json"]);
    expect(JSON.parse(out)).toMatchObject({
      code: 3,
      error: { name: "ConnectionError", billing: "maybe" },
    });
  });
});

test("The help of a command lists only its own options, and sluice --version prints the version", async () => {
  const { runSluice } = await openEmulator();
  const { out: chat } = await runSluice(["chat", "--help"]);
  expect(chat).toMatch(/^ {2}sluice chat "Why is the sky blue\?"/);
  for (const word of ["--system", "--base-url", "GATEWAY_URL", "done in part"]) expect(chat).toContain(word);
  for (const word of ["--resume", "--models", "sluice image"]) expect(chat).not.toContain(word);
  for (const command of ["image", "video", "doctor", "mcp"]) {
    const { code, out } = await runSluice([command, "--help"]);
    expect([code, out]).toEqual([0, expect.stringContaining(`sluice ${command}`)]);
    for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    const { out: narrow } = await runSluice([command, "--help"], { isTTY: true, columns: 32 });
    for (const line of narrow.split("\n")) expect(line.length).toBeLessThanOrEqual(32);
  }
  expect((await runSluice(["--version"])).out).toMatch(
    /^sluice (from its repository, not a release|\d+\.\d+\.\d+)\n$/,
  );
});

/** A clock without the wait of about 3 s before another poll of an unknown task. */
const shortWaits = {
  now: () => Date.now(),
  sleep: async (ms: number, signal?: AbortSignal) => {
    if (ms < 2500 || ms > 3500) await new Promise((_, reject) => signal?.addEventListener("abort", reject));
  },
};

test("Help names each command, each code and the environment", async () => {
  const { runSluice } = await openEmulator();
  const { out } = await runSluice(["--help"]);
  for (const name of ["chat", "image", "video", "doctor", "mcp", "GATEWAY_API_KEY", "PROXY_TOKEN", "130"])
    expect(out).toContain(name);
  for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});
