import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020, type AnySchema } from "ajv-8/dist/2020.js";
import { afterAll, describe, expect, test } from "vitest";
import { CHAT, connect, IMAGE, joinTexts, question, VIDEO } from "./support/connect.js";

const folders: string[] = [];
const createFolder = async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-mcp-"));
  folders.push(folder);
  return folder;
};
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

describe("The list of tools", () => {
  test("has a tool for each model, and the official client accepts it", async () => {
    const { mcp } = await connect();
    const { tools } = await mcp.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "chat_alpha-v4_1-flash",
      "chat_gamma-chat-1-6-251015",
      CHAT,
      "image_gamma-image-4-0-250828",
      IMAGE,
      VIDEO,
      "video_start_beta3_0-video-prime",
      "video_start_gamma-video-1-5-pro-251215",
      "video_start_gamma-video-1-0-pro-fast-251015",
      "video_start_gamma-video-2_0",
      "video_start_gamma-video-fast",
      "video_status",
      "video_wait",
      "asset_create",
    ]);
    for (const { name } of tools) expect(name).toMatch(/^[\w-]{1,64}$/);
  });

  test("has the bounds and docs of the model, and no field that the server sets", async () => {
    const { mcp } = await connect({ server: { models: ["beta3.0-video"] } });
    const { tools } = await mcp.listTools();
    expect(tools.map(({ name }) => name)).toEqual([VIDEO, "video_status", "video_wait"]);
    const { properties = {}, required } = tools[0]?.inputSchema ?? {};
    expect(Object.keys(properties)).toEqual(["input", "parameters", "idempotency_key"]);
    expect(properties["parameters"]).toMatchObject({
      properties: {
        ratio: { enum: ["adaptive", "16:9", "4:3", "1:1", "3:4", "9:16"] },
        seed: { minimum: 0, description: expect.stringContaining("the same request with the same seed") },
      },
    });
    expect(required).toEqual(["input"]);
  });

  test("is smaller than 25 kB, because the agent reads all of it", async () => {
    const { mcp } = await connect();
    expect(JSON.stringify(await mcp.listTools()).length).toBeLessThan(25_000);
  });

  test("has schemas of draft 2020-12 alone, without unions of objects", async () => {
    const { mcp } = await connect();
    const { tools } = await mcp.listTools();
    const ajv = new Ajv2020({ strict: true });
    for (const { name, inputSchema, outputSchema } of tools) {
      for (const schema of [inputSchema, outputSchema ?? {}])
        expect(() => ajv.compile(schema as AnySchema), name).not.toThrow();
      for (const [, kinds = ""] of JSON.stringify(inputSchema).matchAll(/"(?:any|one)Of":(\[.*?\])/g))
        expect(kinds.split('"type":"object"').length, `${name}: ${kinds}`).toBeLessThan(3);
    }
  });

  test("says of each tool if it costs money", async () => {
    const { mcp } = await connect();
    for (const { annotations, description } of (await mcp.listTools()).tools)
      expect(annotations?.readOnlyHint ?? false).toBe(/Costs nothing/.test(description ?? ""));
  });

  test("is refused for an unknown model", async () => {
    await expect(connect({ server: { models: ["beta4"] } })).rejects.toThrow("models: beta4 is not known");
  });

  test("has asset_status if the client has an asset lookup", async () => {
    const assetLookup = async () => ({ Status: "Active" });
    const { mcp, call } = await connect({
      client: { gateway: { assetLookup } },
      server: { models: ["gamma-asset"] },
    });
    expect((await mcp.listTools()).tools.map(({ name }) => name)).toEqual(["asset_create", "asset_status"]);
    expect(joinTexts(await call("asset_status", { id: "a-1" }))).toBe("The asset a-1 is active.");
  });
});

describe("A call", () => {
  test("A chat returns the message", async () => {
    const { call } = await connect({ emulator: { chat: () => "Light scatters." } });
    const result = await call(CHAT, question);
    expect(joinTexts(result)).toBe("Light scatters.");
    expect(result.structuredContent).toMatchObject({ outcome: "complete" });
  });

  test("A chat says that its message is cut", async () => {
    const { call } = await connect();
    const messages = [{ role: "user", content: "Tell me a story [[length]]" }];
    expect(joinTexts(await call(CHAT, { messages }))).toMatch(
      /The response was cut: it reached max_tokens\.$/,
    );
  });

  test("An image returns a link, and also the image if it is small", async () => {
    const { call } = await connect();
    const result = await call(IMAGE, { prompt: "A reef" });
    expect(result.content.map(({ type }) => type)).toEqual(["text", "resource_link", "image"]);
    expect(result.content[1]?.uri).toMatch(/^https:/);
    expect(result.content[2]?.mimeType).toBe("image/png");
    expect(
      Buffer.from(result.content[2]?.data ?? "", "base64")
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
    expect(joinTexts(result)).toContain("save the file");
  });

  test.each([
    ["in a folder", true],
    ["at its link", false],
  ])("A result shows at most 750 kB of images: %s", async (_, isSaved) => {
    const server = isSaved ? { folder: await createFolder() } : {};
    const { call } = await connect({ ...createImagesOfSizes([700_000, 60_000, 40_000]), server });
    const result = await call(IMAGE, { prompt: "A reef", sequential_image_generation: "auto" });
    const sizes = result.content.flatMap(({ data }) => (data ? Buffer.from(data, "base64").length : []));
    expect(sizes).toEqual([700_000, 40_000]);
    expect(result.content.filter(({ type }) => type === "resource_link")).toHaveLength(3);
  });

  test("All images of a result download within 15 s, and the others stay links", async () => {
    let now = 0;
    const { client } = createImagesOfSizes([101, 102, 103]);
    const downloads: string[] = [];
    const { call } = await connect({
      client: {
        clock: { ...shortWaits, now: () => now },
        fetch(request) {
          if (request.url.endsWith(".png")) {
            downloads.push(request.url);
            now += 8000;
          }
          return client.fetch(request);
        },
      },
    });
    const result = await call(IMAGE, { prompt: "A reef", sequential_image_generation: "auto" });
    expect(downloads).toEqual(["https://files.example/101.png", "https://files.example/102.png"]);
    expect(result.content.filter(({ type }) => type === "resource_link")).toHaveLength(3);
  });

  test("An image saves its file in the folder, and returns the path", async () => {
    const folder = await createFolder();
    const { call } = await connect({ server: { folder: join(folder, "new") } });
    const result = await call(IMAGE, { prompt: "A reef" });
    const [file] = (await readdir(join(folder, "new"))).filter((name) => name.startsWith("image-"));
    expect(file).toMatch(/^image-[\da-f]{8}-1-[\da-f]{8}\.(png|jpg)$/);
    const path = fileURLToPath(result.content[1]?.uri ?? "");
    expect(path).toBe(join(folder, "new", file ?? ""));
    expect(joinTexts(result)).toContain(path);
    expect((await readFile(path)).length).toBeGreaterThan(1000);
  });

  test("An image whose file cannot be saved keeps the link, since it is paid for", async () => {
    const { call } = await connect({ server: { folder: await createFolder(), maxBytes: 10 } });
    const result = await call(IMAGE, { prompt: "A reef" });
    expect(result.isError).toBeUndefined();
    expect(result.content[1]?.uri).toMatch(/^https:/);
    expect(joinTexts(result)).toContain("it could not be saved: the file is larger than 10 bytes");
  });

  test("A video returns the id of its task, and video_wait returns its file", async () => {
    const folder = await createFolder();
    const { call, countPosts } = await connect({ server: { folder } });
    const started = await call(VIDEO, { input: { prompt: "A reef" }, parameters: { duration: 5 } });
    const { id, model } = started.structuredContent ?? {};
    expect(joinTexts(started)).toContain(`Its task is ${id}.`);
    expect(joinTexts(await call("video_status", { id, model }))).toContain(`${id} is `);
    const listFiles = () => readdir(folder).then((all) => all.filter((name) => name.endsWith(".mp4")));
    for (const _ of ["first", "again"]) {
      const ready = await call("video_wait", { id, model });
      expect(ready.structuredContent).toMatchObject({ id, state: "succeeded" });
      const [file = ""] = await listFiles();
      expect(file).toMatch(new RegExp(`^video-${id}-[\\da-f]{8}\\.mp4$`));
      expect(fileURLToPath(ready.content[1]?.uri ?? "")).toBe(join(folder, file));
    }
    expect(await listFiles()).toHaveLength(1);
    expect(countPosts()).toBe(1);
  });

  test("A long call sends growing progress, so that the client does not time out", async () => {
    const { call } = await connect({ server: { progressMs: 5 } });
    const numbers: number[] = [];
    const caller = new AbortController();
    const onprogress = ({ progress }: { progress: number }) => {
      numbers.push(progress);
      if (numbers.length === 3) caller.abort(new Error("seen enough"));
    };
    const calling = call(IMAGE, { prompt: "A reef [[stall]]" }, { onprogress, signal: caller.signal });
    await expect(calling).rejects.toThrow("seen enough");
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  });

  test("A short video_wait says that the task continues", async () => {
    const { call } = await connect({ emulator: { speed: 1 } });
    const { structuredContent } = await call(VIDEO, { input: { prompt: "A reef" } });
    const result = await call("video_wait", { ...structuredContent, seconds: -1 });
    expect(result.isError).toBe(true);
    expect(joinTexts(result)).toMatch(/call again with its id, and do not start another/);
  });

  test("An unknown tool gets an error that lists the tools", async () => {
    const { call } = await connect({ server: { models: ["gamma-asset"] } });
    const result = await call("draw", {});
    expect(result).toMatchObject({ isError: true });
    expect(joinTexts(result)).toBe("There is no tool draw. There are asset_create.");
  });

  test("An asset returns its URL", async () => {
    const { call } = await connect();
    const fields = { GroupId: "g", Name: "n", AssetType: "Image", URL: "https://files.example/1.png" };
    expect(joinTexts(await call("asset_create", fields))).toMatch(
      /is registered\. Videos name it asset:\/\//,
    );
  });
});

describe("An error", () => {
  test("An error about a broken rule says that nothing was sent, and what to correct", async () => {
    const { call, countPosts } = await connect();
    const result = await call(VIDEO, { input: { prompt: "A reef" }, parameters: { duration: 31 } });
    expect(result.isError).toBe(true);
    // an agent validates the result with the tool's schema, which an error does not match
    expect(result.structuredContent).toBeUndefined();
    expect(joinTexts(result)).toMatch(
      /^parameters\.duration: must be .*\nNothing was billed\. Nothing was sent\. Correct/,
    );
    expect(countPosts()).toBe(0);
  });

  test("An error about a 429 says that nothing was billed, and when to call again", async () => {
    const { call } = await connect();
    expect(joinTexts(await call(IMAGE, { prompt: "A reef [[429]]" }))).toMatch(
      /Nothing was billed\. Call it again in 1 seconds\.$/,
    );
  });

  test("An error about a lost response says that it may be billed and must not be repeated", async () => {
    const { call } = await connect({ client: { idempotencyKeys: false } });
    const result = await call(IMAGE, { prompt: "A reef [[drop]]" });
    expect(result.isError).toBe(true);
    expect(joinTexts(result)).toMatch(
      /It may have been done, and may be billed\. Do not call it again by yourself: each call would be paid for\. Tell the user\.$/,
    );
  });

  test("An error about an interrupted chat contains the message so far", async () => {
    const { call } = await connect({ emulator: { chat: () => "One two three four five six seven eight" } });
    const messages = [{ role: "user", content: "Count [[drop]]" }];
    expect(joinTexts(await call(CHAT, { messages }))).toMatch(
      /may be billed[\s\S]*The response so far:\nOne two/,
    );
  });

  test.each(["video_wait", "video_status"])(
    "says for %s that the gateway does not know the id",
    async (tool) => {
      const { call } = await connect({ client: { clock: shortWaits } });
      const result = await call(tool, { id: "nobody-knows" });
      expect(result.isError).toBe(true);
      expect(joinTexts(result)).toMatch(
        /^No task with this id: the gateway does not know nobody-knows\. Check the id/,
      );
    },
  );

  test("video_wait accepts a task that appears a moment later", async () => {
    let polls = 0;
    const fetchLate = async (request: Request) => {
      if (request.url.endsWith(".mp4") || ++polls > 2) return respondReady(request);
      return Response.json({ error: { message: "no such task" } }, { status: 404 });
    };
    const { call } = await connect({ client: { fetch: fetchLate, clock: shortWaits } });
    expect(joinTexts(await call("video_wait", { id: "v-1" }))).toContain("is ready");
  });

  test.each([
    ["video_wait", { id: 7 }, "id must be a text that is not empty, got 7"],
    ["video_wait", {}, "id must be a text that is not empty, got undefined"],
    ["video_wait", { id: "v", seconds: "long" }, 'seconds must be a number, got "long"'],
    ["video_status", { id: "v", model: 3 }, "model must be a text that is not empty, got 3"],
  ])("An error about %s with the arguments %j says what is expected", async (tool, input, text) => {
    const { call, emulator } = await connect();
    const result = await call(tool, input);
    expect(result.isError).toBe(true);
    expect(joinTexts(result)).toBe(`Nothing was sent: ${text}.`);
    expect(emulator.requests).toEqual([]);
  });
});

describe("A cancellation", () => {
  test("ends the request", async () => {
    const { call, emulator } = await connect();
    const caller = new AbortController();
    const calling = call(IMAGE, { prompt: "A reef [[stall]]" }, { signal: caller.signal });
    await expect.poll(() => emulator.requests.length).toBe(1);
    caller.abort(new Error("enough"));
    await expect(calling).rejects.toThrow("enough");
    await expect.poll(() => emulator.requests[0]?.aborted).toBe(true);
  });
});

/** A clock without the wait of about 3 s before another poll of an unknown task. */
const shortWaits = {
  now: () => Date.now(),
  sleep: async (ms: number, signal?: AbortSignal) => {
    if (ms < 2500 || ms > 3500) await new Promise((_, reject) => signal?.addEventListener("abort", reject));
  },
};

/** Creates a gateway whose images have these sizes in bytes. */
function createImagesOfSizes(sizes: readonly number[]) {
  const fetch = async (request: Request) => {
    const [, size] = /(\d+)\.png$/.exec(request.url) ?? [];
    if (size === undefined)
      return Response.json({ data: sizes.map((bytes) => ({ url: `https://files.example/${bytes}.png` })) });
    const bytes = new Uint8Array(Number(size));
    bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    return new Response(bytes, { headers: { "content-type": "image/png" } });
  };
  return { client: { fetch } };
}

/** Responds to every query with a finished video. */
async function respondReady(request: Request) {
  if (request.url.endsWith(".mp4"))
    return new Response("not really a video", { headers: { "content-type": "video/mp4" } });
  const data = { status: "SUCCESS", progress: "100%", result_url: "https://files.example/a.mp4" };
  return Response.json({ code: "success", data });
}

test("an id with a path in it names a file inside the folder (case 214)", async () => {
  const folder = await createFolder();
  const { call } = await connect({
    client: { fetch: respondReady },
    server: { folder: join(folder, "inside") },
  });
  const result = await call("video_wait", { id: "..%2f..\\..:outside" });
  expect(joinTexts(result)).toContain("is ready");
  expect(await readdir(folder)).toEqual(["inside"]);
  expect(await readdir(join(folder, "inside"))).toEqual([
    expect.stringMatching(/^video-___2f______outside-[\da-f]{8}\.mp4$/),
  ]);
});

test("an existing file is not written again (case 214)", async () => {
  const folder = await createFolder();
  const { call } = await connect({ client: { fetch: respondReady }, server: { folder } });
  await call("video_wait", { id: "v-1" });
  const [file = ""] = await readdir(folder);
  await writeFile(join(folder, file), "mine");
  expect(joinTexts(await call("video_wait", { id: "v-1" }))).toContain(join(folder, file));
  expect(await readFile(join(folder, file), "utf8")).toBe("mine");
});

test("A saved video is never mistaken for the video of another task or gateway", async () => {
  const folder = await createFolder();
  const server = { folder };
  await writeFile(join(folder, "video-a_b.mp4"), "a file of the user");
  for (const baseURL of ["https://one.example", "https://other.example"]) {
    const { call } = await connect({ client: { fetch: respondReady, baseURL }, server });
    for (const id of ["a.b", "a_b"])
      expect(joinTexts(await call("video_wait", { id }))).toContain("is ready");
  }
  expect(await readdir(folder)).toHaveLength(5);
});

test("an error of the gateway that repeats the key is shown without it (case 215)", async () => {
  const key = "sk-canary-0123456789abcdef";
  const echoKey = async (request: Request) =>
    Response.json({ error: { message: `bad ${request.headers.get("authorization")}` } }, { status: 401 });
  const { call } = await connect({ client: { apiKey: key, fetch: echoKey, headers: {} } });
  for (const [name, args] of [
    [IMAGE, { prompt: "A reef" }],
    [CHAT, question],
    [VIDEO, { input: { prompt: "A reef" } }],
    ["video_status", { id: "t-1" }],
  ] as const) {
    const result = await call(name, args);
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result)).not.toContain("canary");
    expect(joinTexts(result)).toContain("redacted");
  }
});

test("a complete or partial message that repeats the key is shown without it (case 215)", async () => {
  const key = "sk-canary-1";
  const writeReply = () => `The key is ${key}, is it not? So it is, and here are more words.`;
  const { call } = await connect({
    emulator: { chat: writeReply, apiKeys: [key] },
    client: { apiKey: key, headers: {} },
  });
  for (const content of ["Say it", "Say it [[drop]]"]) {
    const result = await call(CHAT, { messages: [{ role: "user", content }] });
    expect(joinTexts(result)).toContain("The key is");
    expect(JSON.stringify(result)).not.toContain("canary");
  }
});
