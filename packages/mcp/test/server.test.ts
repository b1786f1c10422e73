import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { jsonSchemaOf } from "@sluice/core/schemas";
import { afterAll, describe, expect, test } from "vitest";
import { CHAT, connected, IMAGE, question, textOf, VIDEO } from "./support/connect.js";

const folders: string[] = [];
const folder = async () => {
  const made = await mkdtemp(join(tmpdir(), "sluice-mcp-"));
  folders.push(made);
  return made;
};
afterAll(() => Promise.all(folders.map((made) => rm(made, { recursive: true, force: true }))));

describe("The list of tools", () => {
  test("has a tool for each model, and the official client takes it whole", async () => {
    const { mcp } = await connected();
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
    const { mcp } = await connected({ server: { models: ["beta3.0-video"] } });
    const { tools } = await mcp.listTools();
    expect(tools.map(({ name }) => name)).toEqual([VIDEO, "video_status", "video_wait"]);
    const { properties = {}, required } = tools[0]?.inputSchema ?? {};
    expect(Object.keys(properties)).toEqual(["input", "parameters", "idempotency_key"]);
    expect(properties["parameters"]).toEqual(jsonSchemaOf("beta3.0-video").properties["parameters"]);
    expect(required).toEqual(["input"]);
  });

  test("says of each tool if it costs money", async () => {
    const { mcp } = await connected();
    for (const { annotations, description } of (await mcp.listTools()).tools)
      expect(annotations?.readOnlyHint).toBe(/Costs nothing/.test(description ?? ""));
  });

  test("is refused for a model that is not known", async () => {
    await expect(connected({ server: { models: ["beta4"] } })).rejects.toThrow("models: beta4 is not known");
  });

  test("has asset_status where the client can look an asset up", async () => {
    const assetLookup = async () => ({ Status: "Active" });
    const { mcp, call } = await connected({ client: { assetLookup }, server: { models: ["gamma-asset"] } });
    expect((await mcp.listTools()).tools.map(({ name }) => name)).toEqual(["asset_create", "asset_status"]);
    expect(textOf(await call("asset_status", { id: "a-1" }))).toBe("The asset a-1 is active.");
  });
});

describe("A call", () => {
  test("of a chat returns the answer", async () => {
    const { call } = await connected({ emulator: { chat: () => "Light scatters." } });
    const answer = await call(CHAT, question);
    expect(textOf(answer)).toBe("Light scatters.");
    expect(answer.structuredContent).toMatchObject({ outcome: "complete" });
  });

  test("of a chat says that its answer is cut", async () => {
    const { call } = await connected();
    const messages = [{ role: "user", content: "Tell me a story [[length]]" }];
    expect(textOf(await call(CHAT, { messages }))).toMatch(/The answer is cut: it reached max_tokens\.$/);
  });

  test("of an image returns a link, and never Base64", async () => {
    const { call } = await connected();
    const answer = await call(IMAGE, { prompt: "A reef" });
    expect(answer.content.map(({ type }) => type)).toEqual(["text", "resource_link"]);
    expect(answer.content[1]?.uri).toMatch(/^https:/);
    expect(textOf(answer)).toContain("save the file");
  });

  test("of an image saves its file in the folder, and returns the path", async () => {
    const at = await folder();
    const { call } = await connected({ server: { folder: join(at, "new") } });
    const answer = await call(IMAGE, { prompt: "A reef" });
    const [file] = await readdir(join(at, "new"));
    expect(file).toMatch(/^image-[\da-f]{8}-1\.(png|jpg)$/);
    const path = fileURLToPath(answer.content[1]?.uri ?? "");
    expect(path).toBe(join(at, "new", file ?? ""));
    expect(textOf(answer)).toContain(path);
    expect((await readFile(path)).length).toBeGreaterThan(1000);
  });

  test("of an image whose file can't be saved keeps the link, since it is paid for", async () => {
    const { call } = await connected({ server: { folder: await folder(), maxBytes: 10 } });
    const answer = await call(IMAGE, { prompt: "A reef" });
    expect(answer.isError).toBeUndefined();
    expect(answer.content[1]?.uri).toMatch(/^https:/);
    expect(textOf(answer)).toContain("it could not be saved: the file is larger than 10 bytes");
  });

  test("of a video returns the id of its task, and video_wait its file", async () => {
    const at = await folder();
    const { call, bills } = await connected({ server: { folder: at } });
    const started = await call(VIDEO, { input: { prompt: "A reef" }, parameters: { duration: 5 } });
    const { id, model } = started.structuredContent ?? {};
    expect(textOf(started)).toContain(`Its task is ${id}.`);
    expect(textOf(await call("video_status", { id, model }))).toContain(`${id} is `);
    for (const _ of ["first", "again"]) {
      const ready = await call("video_wait", { id, model });
      expect(ready.structuredContent).toMatchObject({ id, state: "succeeded" });
      expect(fileURLToPath(ready.content[1]?.uri ?? "")).toBe(join(at, `video-${id}.mp4`));
    }
    expect(await readdir(at)).toEqual([`video-${id}.mp4`]);
    expect(bills()).toBe(1);
  });

  test("that takes long shows progress which grows, so that the caller goes on waiting", async () => {
    const { call } = await connected({ server: { progressMs: 5 } });
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

  test("of video_wait that is too short says that the task goes on", async () => {
    const { call } = await connected({ emulator: { speed: 1 } });
    const { structuredContent } = await call(VIDEO, { input: { prompt: "A reef" } });
    const answer = await call("video_wait", { ...structuredContent, seconds: -1 });
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toMatch(/call again with its id, and do not start another/);
  });

  test("of a tool that is not there names those that are", async () => {
    const { call } = await connected({ server: { models: ["gamma-asset"] } });
    const answer = await call("draw", {});
    expect(answer).toMatchObject({ isError: true });
    expect(textOf(answer)).toBe("There is no tool draw. There are asset_create.");
  });

  test("of an asset returns its address", async () => {
    const { call } = await connected();
    const fields = { GroupId: "g", Name: "n", AssetType: "Image", URL: "https://files.example/1.png" };
    expect(textOf(await call("asset_create", fields))).toMatch(/is registered\. Videos name it asset:\/\//);
  });
});

describe("An error", () => {
  test("of a broken rule says that nothing was sent, and what to correct", async () => {
    const { call, bills } = await connected();
    const answer = await call(VIDEO, { input: { prompt: "A reef" }, parameters: { duration: 31 } });
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toMatch(
      /^parameters\.duration: must be .*\nNothing was billed\. Nothing was sent\. Correct/,
    );
    expect(bills()).toBe(0);
  });

  test("of a 429 says that nothing was billed, and when to call again", async () => {
    const { call } = await connected();
    expect(textOf(await call(IMAGE, { prompt: "A reef [[429]]" }))).toMatch(
      /Nothing was billed\. Call it again in 1 seconds\.$/,
    );
  });

  test("of a lost answer says that it may be billed, and that it must not be repeated", async () => {
    const { call } = await connected({ client: { idempotencyKeys: false } });
    const answer = await call(IMAGE, { prompt: "A reef [[drop]]" });
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toMatch(
      /It may have been done, and may be billed\. Do not call it again by yourself: each call would be paid for\. Tell the user\.$/,
    );
  });

  test("of a chat that breaks off has the answer so far", async () => {
    const { call } = await connected({ emulator: { chat: () => "One two three four five six seven eight" } });
    const messages = [{ role: "user", content: "Count [[drop]]" }];
    expect(textOf(await call(CHAT, { messages }))).toMatch(/may be billed[\s\S]*The answer so far:\nOne two/);
  });

  test("of a task that is not known tells to use its id, and not to start another", async () => {
    const { call } = await connected();
    expect(textOf(await call("video_status", { id: "nobody-knows" }))).toMatch(/do not start another/);
  });
});

describe("The caller's cancellation", () => {
  test("ends the request", async () => {
    const { call, emulator } = await connected();
    const caller = new AbortController();
    const calling = call(IMAGE, { prompt: "A reef [[stall]]" }, { signal: caller.signal });
    await expect.poll(() => emulator.requests.length).toBe(1);
    caller.abort(new Error("enough"));
    await expect(calling).rejects.toThrow("enough");
    await expect.poll(() => emulator.requests[0]?.aborted).toBe(true);
  });
});

/** A gateway whose videos are ready, whatever their id. */
async function readyVideos(request: Request) {
  if (request.url.endsWith(".mp4"))
    return new Response("not really a film", { headers: { "content-type": "video/mp4" } });
  const data = { status: "SUCCESS", progress: "100%", result_url: "https://files.example/a.mp4" };
  return Response.json({ code: "success", data });
}

test("case 214: an id with a path in it names a file inside the folder", async () => {
  const at = await folder();
  const { call } = await connected({
    client: { fetch: readyVideos },
    server: { folder: join(at, "inside") },
  });
  const answer = await call("video_wait", { id: "..%2f..\\..:outside" });
  expect(textOf(answer)).toContain("is ready");
  expect(await readdir(at)).toEqual(["inside"]);
  expect(await readdir(join(at, "inside"))).toEqual(["video-___2f______outside.mp4"]);
});

test("case 214: a file that is there already is not written again", async () => {
  const at = await folder();
  await writeFile(join(at, "video-v-1.mp4"), "mine");
  const { call } = await connected({ client: { fetch: readyVideos }, server: { folder: at } });
  expect(textOf(await call("video_wait", { id: "v-1" }))).toContain(join(at, "video-v-1.mp4"));
  expect(await readFile(join(at, "video-v-1.mp4"), "utf8")).toBe("mine");
});

test("case 215: an error of the gateway that repeats the key is shown without it", async () => {
  const key = "sk-canary-0123456789abcdef";
  const echo = async (request: Request) =>
    Response.json({ error: { message: `bad ${request.headers.get("authorization")}` } }, { status: 401 });
  const { call } = await connected({ client: { apiKey: key, fetch: echo, headers: {} } });
  for (const [name, args] of [
    [IMAGE, { prompt: "A reef" }],
    [CHAT, question],
    [VIDEO, { input: { prompt: "A reef" } }],
    ["video_status", { id: "t-1" }],
  ] as const) {
    const answer = await call(name, args);
    expect(answer.isError).toBe(true);
    expect(JSON.stringify(answer)).not.toContain("canary");
    expect(textOf(answer)).toContain("redacted");
  }
});

test("case 215: an answer and a part of one that repeat the key are shown without it", async () => {
  const key = "sk-canary-1";
  const chat = () => `The key is ${key}, is it not? So it is, and here are more words.`;
  const { call } = await connected({
    emulator: { chat, apiKeys: [key] },
    client: { apiKey: key, headers: {} },
  });
  for (const content of ["Say it", "Say it [[drop]]"]) {
    const answer = await call(CHAT, { messages: [{ role: "user", content }] });
    expect(textOf(answer)).toContain("The key is");
    expect(JSON.stringify(answer)).not.toContain("canary");
  }
});
