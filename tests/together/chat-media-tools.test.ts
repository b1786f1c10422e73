import { type Client, createClient, defineTool, type Tool } from "@sluice/core";
import { idempotency } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { createEmulator } from "@sluice/emulator";
import { imageTool, videoTool } from "@sluice/media";
import {
  type ChatState,
  type ChatStorage,
  type ChatStore,
  type ChatStoreOptions,
  createChatStore,
  memoryStorage,
} from "@sluice/stores";
import { chat as chatRoutes, createProxy, images } from "@sluice/worker-proxy";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createTestClock } from "../support/test-clock.ts";

/* Images and videos that a chat requests by tools from the emulator. */

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const IMAGES = "/v1/images/generations";
const VIDEOS = "/v1/video/generations";
const imageRequest = { model: "gamma-image-5-0-260128" } as const;
const short = { model: "beta3.0-video", params: { duration: 5, resolution: "480P" } } as const;

type Send = (request: Request) => Promise<Response>;

/** A gateway. Its model calls the tools with these arguments, and then replies. */
function createGateway(calls: Readonly<Record<string, object>>) {
  const toolCalls = Object.entries(calls).map(([name, given]) => ({ name, arguments: given }));
  const replies = [
    { prompt: "please", toolCalls },
    ...Object.keys(calls).map((tool) => ({ tool, content: "Here it is." })),
  ];
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, script: { replies } });
  const posts = (path: string) =>
    emulator.requests.filter((request) => request.method === "POST" && request.path === path);
  return { emulator, posts, send: emulator.fetch as Send, options: emulator.clientOptions };
}

type Gateway = ReturnType<typeof createGateway>;

/** Opens a page. It is killed by the first request for which `dies` returns true: no response arrives. */
function page(
  { options, send: toGateway }: Gateway,
  createTools: (client: Client) => readonly Tool[],
  {
    storage = memoryStorage(),
    id = "a",
    dies = () => false,
    send = toGateway,
    proxy,
  }: {
    storage?: ChatStorage;
    id?: string;
    dies?: (request: Request) => boolean;
    send?: Send;
    proxy?: string;
  } = {},
) {
  let die: () => void = () => {};
  const died = new Promise<void>((resolve) => {
    die = resolve;
  });
  let isDead = false;
  const client = createClient({
    ...(proxy === undefined ? options : { baseURL: proxy, headers: { authorization: "user-1" } }),
    retry: { limit: 0 },
    clock: createTestClock(),
    async fetch(request) {
      isDead ||= dies(request);
      // requests that the page has sent still arrive
      const response = isDead && request.method === "GET" ? undefined : await send(request);
      if (response && !isDead) return response;
      die();
      return new Promise<Response>(() => {});
    },
  });
  const given = { id, model: "alpha-v4.1-flash", storage, throttleMs: 0, tools: createTools(client) };
  const chat = createChatStore(client, given as ChatStoreOptions);
  chat.subscribe(() => {});
  return { chat, storage, died };
}

/** Copies the records of a killed page to a new id, so that no page holds its lock. */
async function left(storage: ChatStorage) {
  const copy = memoryStorage();
  const id = `left-${Math.random()}`;
  await copy.write(`chat/${id}`, await storage.read("chat/a"));
  return { storage: copy, id };
}

/** Opens a page that has requested a video, and was closed at its first poll. */
async function leaveWithVideo(...others: readonly Tool[]) {
  const requests = [["make_video", { prompt: "A reef" }], ...others.map(({ name }) => [name, {}])];
  const gateway = createGateway(Object.fromEntries(requests));
  const tools = (client: Client) => [videoTool(client, short), ...others];
  const before = page(gateway, tools, {
    dies: ({ method, url }) => method === "GET" && url.includes(VIDEOS),
  });
  void before.chat.send("please");
  await before.died;
  return { gateway, tools, before };
}

function until(chat: ChatStore, isReached: (state: ChatState) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isReached(chat.getSnapshot())) return;
      leave();
      resolve();
    };
    const leave = chat.subscribe(check);
    check();
  });
}

const isOver = ({ messages, status }: ChatState) =>
  ["ready", "error"].includes(status) && messages.length > 0 && messages.at(-1)?.outcome !== "tool-calls";
const findReply = (chat: ChatStore) => chat.getSnapshot().messages.find(({ toolCalls }) => toolCalls);
const findCall = (chat: ChatStore, nth = 0) => findReply(chat)?.toolCalls?.[nth];

describe("imageTool", () => {
  test("shows an image that is requested in a chat, for one bill, also after a reload", async () => {
    const gateway = createGateway({ make_image: { prompt: "A reef", size: "2048x2048", n: 9 } });
    const tools = (client: Client) => [imageTool(client, imageRequest)];
    const { chat, storage } = page(gateway, tools);
    const turn = await chat.send("A reef, please");
    expect(turn).toMatchObject({ outcome: "complete", messages: [{}, {}, { content: "Here it is." }] });
    const [url = ""] = findReply(chat)?.images ?? [];
    expect(url).toMatch(/^https?:/);
    expect(findCall(chat)).toMatchObject({ state: "done", output: "The user sees the image." });
    expect(gateway.posts(IMAGES).map(({ body }) => body)).toEqual([
      { model: imageRequest.model, prompt: "A reef", size: "2048x2048" },
    ]);
    expect(JSON.stringify(gateway.posts("/v1/chat/completions").at(-1)?.body)).not.toContain(url);
    chat.close();
    const after = page(gateway, tools, { storage });
    await until(after.chat, ({ messages }) => messages.length === 3);
    expect(findReply(after.chat)?.images).toEqual([url]);
  });

  test("offers the sizes of its model, and leaves out a size that the app sets", async () => {
    const { options } = createGateway({});
    const client = createClient(options);
    const free = (await imageTool(client, imageRequest).definition()).function;
    expect(free.parameters).toMatchObject({
      properties: { prompt: {}, size: { enum: expect.arrayContaining(["2048x2048"]) } },
      required: ["prompt"],
    });
    const set = imageTool(client, { ...imageRequest, params: { size: "2048x2048" }, name: "paint" });
    const { name, parameters } = (await set.definition()).function;
    expect([name, Object.keys((parameters as { properties: object }).properties)]).toEqual([
      "paint",
      ["prompt"],
    ]);
    expect(() => imageTool(client, { model: "x" as "gamma-image-5-0-260128" })).toThrow(/not an image model/);
  });

  test("waits for the user's approval if it needs one, and bills nothing before", async () => {
    const gateway = createGateway({ make_image: { prompt: "A reef" } });
    const { chat } = page(gateway, (client) => [imageTool(client, { ...imageRequest, needsApproval: true })]);
    await chat.send("A reef, please");
    const [action] = chat.getSnapshot().pendingActions;
    expect(action).toMatchObject({ name: "make_image", input: { prompt: "A reef" } });
    expect(gateway.posts(IMAGES)).toEqual([]);
    await chat.approve(action?.toolCallId ?? "");
    expect([findReply(chat)?.images?.length, gateway.posts(IMAGES).length]).toEqual([1, 1]);
  });

  test.each([
    [
      "a size that the model does not have",
      { prompt: "A reef", size: "1x1" },
      "must be one of this model's sizes",
    ],
    ["no prompt", {}, "prompt"],
    ["a refusal of the gateway", { prompt: "A reef [[429]]" }, ""],
  ])("tells the model of %s, and the chat goes on", async (_, given, words) => {
    const gateway = createGateway({ make_image: given });
    const { chat } = page(gateway, (client) => [imageTool(client, imageRequest)]);
    expect(await chat.send("please")).toMatchObject({ outcome: "complete" });
    expect(findCall(chat)).toMatchObject({ state: "failed", error: expect.stringContaining(words) });
    expect(findReply(chat)).not.toHaveProperty("images");
  });

  test("tells the model to ask the user where the image may be billed", async () => {
    const gateway = createGateway({ make_image: { prompt: "A reef" } });
    const send: Send = async (request) => {
      const response = await gateway.send(request);
      if (request.url.endsWith(IMAGES)) throw new TypeError("terminated");
      return response;
    };
    const { chat } = page(gateway, (client) => [imageTool(client, imageRequest)], { send });
    await chat.send("please");
    expect(findCall(chat)?.error).toContain("ask the user before you call the tool again");
    expect(gateway.posts(IMAGES)).toHaveLength(1);
  });

  test("is not repeated after a reload if no proxy stores its key, and the model learns of it", async () => {
    const gateway = createGateway({ make_image: { prompt: "A reef" } });
    const tools = (client: Client) => [imageTool(client, imageRequest)];
    const before = page(gateway, tools, { dies: ({ url }) => url.endsWith(IMAGES) });
    void before.chat.send("please");
    await before.died;
    const { chat } = page(gateway, tools, await left(before.storage));
    await until(chat, isOver);
    expect(findCall(chat)).toMatchObject({ state: "failed", error: expect.stringContaining("ask the user") });
    expect(chat.getSnapshot().messages.at(-1)).toMatchObject({ content: "Here it is.", outcome: "complete" });
    expect(gateway.posts(IMAGES)).toHaveLength(1);
  });

  test("shows the same image after a reload behind a proxy that stores its key, for one bill", async () => {
    const gateway = createGateway({ make_image: { prompt: "A reef" } });
    const tools = (client: Client) => [imageTool(client, imageRequest)];
    const behind = { send: createTestProxy(gateway), proxy: "https://proxy.example" };
    const before = page(gateway, tools, { ...behind, dies: ({ url }) => url.endsWith(IMAGES) });
    void before.chat.send("please");
    await before.died;
    const { chat } = page(gateway, tools, { ...behind, ...(await left(before.storage)) });
    await until(chat, isOver);
    expect(findCall(chat)).toMatchObject({ state: "done" });
    expect([findReply(chat)?.images?.length, gateway.posts(IMAGES).length]).toEqual([1, 1]);
  });

  test("is not repeated after a day: the proxy has forgotten its key, and would pay again", async () => {
    const gateway = createGateway({ make_image: { prompt: "A reef" } });
    const tools = (client: Client) => [imageTool(client, imageRequest)];
    const behind = { send: createTestProxy(gateway), proxy: "https://proxy.example" };
    const before = page(gateway, tools, { ...behind, dies: ({ url }) => url.endsWith(IMAGES) });
    void before.chat.send("please");
    await before.died;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
    const { chat } = page(gateway, tools, { ...behind, ...(await left(before.storage)) });
    await until(chat, isOver);
    expect(findCall(chat)).toMatchObject({ state: "failed", error: expect.stringContaining("ask the user") });
    expect(gateway.posts(IMAGES)).toHaveLength(1);
  });
});

describe("videoTool", () => {
  test("shows a video that is requested in a chat, for one bill, and the model gets a sentence", async () => {
    const gateway = createGateway({ make_video: { prompt: "A reef", duration: 30, ratio: "1:1" } });
    const { chat } = page(gateway, (client) => [videoTool(client, short)]);
    expect(await chat.send("please")).toMatchObject({ outcome: "complete" });
    expect(findReply(chat)?.files).toMatchObject([
      { type: "video/mp4", url: expect.stringMatching(/^https?:/) },
    ]);
    expect(findCall(chat)).toMatchObject({ state: "done", output: "The user sees the video." });
    expect(gateway.posts(VIDEOS).map(({ body }) => body)).toEqual([
      { model: short.model, input: { prompt: "A reef" }, parameters: { ratio: "1:1", ...short.params } },
    ]);
  });

  test("writes the request of a gamma model, too", async () => {
    const gateway = createGateway({ make_video: { prompt: "A reef", duration: 4 } });
    const { chat } = page(gateway, (client) => [videoTool(client, { model: "gamma-video-2.0" })]);
    await chat.send("please");
    expect(findReply(chat)?.files).toHaveLength(1);
    expect(gateway.posts(VIDEOS)[0]?.body).toMatchObject({
      content: [{ type: "text", text: "A reef" }],
      duration: 4,
    });
  });

  test("continues from its handle after a reload, and makes no second video", async () => {
    const { gateway, tools, before } = await leaveWithVideo();
    const { chat } = page(gateway, tools, await left(before.storage));
    await until(chat, isOver);
    expect(findCall(chat)).toMatchObject({ state: "done" });
    expect(findCall(chat)).not.toHaveProperty("savedState");
    expect(findReply(chat)?.files).toHaveLength(1);
    expect(chat.getSnapshot().messages.at(-1)).toMatchObject({ content: "Here it is.", outcome: "complete" });
    expect(gateway.posts(VIDEOS)).toHaveLength(1);
  });

  test("continues in one of two tabs after a reload", async () => {
    const { gateway, tools, before } = await leaveWithVideo();
    const stored = await left(before.storage);
    const tabs = [page(gateway, tools, stored), page(gateway, tools, stored)];
    for (const { chat } of tabs) {
      await until(chat, isOver);
      expect(chat.getSnapshot().messages).toHaveLength(3);
      expect(findReply(chat)?.files).toHaveLength(1);
    }
    expect([gateway.posts(VIDEOS).length, gateway.posts("/v1/chat/completions").length]).toEqual([1, 2]);
  });

  test("cancels the other calls of its response after a reload: they may have acted", async () => {
    const paid = vi.fn(() => new Promise<string>(() => {}));
    const pay = defineTool({ name: "pay", inputSchema: { type: "object" }, execute: paid });
    const { gateway, tools, before } = await leaveWithVideo(pay);
    const { chat } = page(gateway, tools, await left(before.storage));
    await until(chat, isOver);
    expect(findReply(chat)?.toolCalls).toMatchObject([{ state: "done" }, { state: "cancelled" }]);
    expect(paid).toHaveBeenCalledTimes(1);
    expect(gateway.posts(VIDEOS)).toHaveLength(1);
  });

  test("stores its handle with the call if it can't continue, without Web Locks", async () => {
    vi.stubGlobal("navigator", {});
    const { gateway, tools, before } = await leaveWithVideo();
    const { chat } = page(gateway, tools, await left(before.storage));
    await until(chat, ({ messages }) => messages.length > 1);
    expect(findCall(chat)).toMatchObject({
      state: "cancelled",
      savedState: { handle: { id: expect.any(String) } },
    });
    expect(gateway.posts(VIDEOS)).toHaveLength(1);
  });

  test("is reported to the model as failed if the gateway can't make it", async () => {
    const gateway = createGateway({ make_video: { prompt: "A reef [[fail]]" } });
    const { chat } = page(gateway, (client) => [videoTool(client, short)]);
    expect(await chat.send("please")).toMatchObject({ outcome: "complete" });
    expect(findCall(chat)).toMatchObject({
      state: "failed",
      error: expect.stringContaining("the video failed"),
    });
    expect(findReply(chat)).not.toHaveProperty("files");
  });
});

/** A proxy with `idempotency()`, before the gateway. */
function createTestProxy({ send }: Gateway): Send {
  const proxy = createProxy({
    baseURL: "https://gateway.example",
    apiKey: () => "sk-emulator",
    fetch: send,
    authenticate: () => ({ id: "user-1" }),
    secret: () => "a secret of the proxy's own, of more than 32 letters",
    origins: ["https://app.example"],
    models: { "alpha-v4.1-flash": {}, [imageRequest.model]: {} },
    routes: [chatRoutes, images],
    host: nodeHost({ file: ":memory:" }),
    plugins: [idempotency()],
  });
  return (request) => proxy.fetch(request);
}
