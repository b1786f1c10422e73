import { type ClientOptions, defineTool } from "@sluice/core";
import {
  type ChatMessage,
  type ChatStorage,
  type ChatStoreOptions,
  createChatStore,
  memoryStorage,
} from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createTestClient, settled, stoppedClock, streamResponse } from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";

/** Opens a chat over a storage that holds each write until the test continues it. */
function openChat(options: Partial<ClientOptions> = {}) {
  const clock = stoppedClock();
  const memory = memoryStorage();
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const write: typeof memory.write = (...given) => released.then(() => memory.write(...given));
  const storedWhenSent: unknown[] = [];
  const respond = async () => {
    storedWhenSent.push(await listKeys());
    return streamResponse(streamText("Hi"));
  };
  const { client, requests } = createTestClient(respond, { clock, ...options });
  const chat = createChatStore(client, { id: "a", model: "delta-5.3", storage: { ...memory, write } });
  const listKeys = async () =>
    [...(await memory.read("chat/a")).values()].flatMap(
      (record) => (record as { message?: { idempotencyKey?: string } }).message?.idempotencyKey ?? [],
    );
  return { chat, clock, requests, release: () => release(), listKeys, storedWhenSent };
}

const findKey = (request: Request | undefined) => request?.headers.get("idempotency-key");

test("A request is sent after its idempotency key is stored, so that a crash never loses the key", async () => {
  const { chat, requests, release, listKeys, storedWhenSent } = openChat();
  const turn = chat.send("Hello");
  await settled();
  expect(requests).toHaveLength(0);
  release();
  expect((await turn).outcome).toBe("complete");
  expect(storedWhenSent).toEqual([[findKey(requests[0])]]);
  await settled();
  expect(await listKeys()).toEqual([]);
});

test("A stalled storage delays a request by at most half a second", async () => {
  const { chat, clock, requests } = openChat();
  const turn = chat.send("Hello");
  await clock.advance(499);
  expect(requests).toHaveLength(0);
  await clock.advance(1);
  expect(requests).toHaveLength(1);
  expect((await turn).outcome).toBe("complete");
});

test("A request that is stopped while its key is written is never sent", async () => {
  const { chat, requests, release } = openChat();
  const turn = chat.send("Hello");
  await settled();
  chat.stop();
  release();
  expect((await turn).outcome).toBe("stopped");
  await settled();
  expect(requests).toHaveLength(0);
});

test("A client with the gateway's API key does not wait for the storage, and stores no idempotency key", async () => {
  const { chat, requests } = openChat({ apiKey: "sk-gateway" });
  expect((await chat.send("Hello")).messages.at(-1)).not.toHaveProperty("idempotencyKey");
  expect(requests.map(findKey)).toEqual([null]);
});

test.each(["a\nb", "", 7, null, "k".repeat(256)])(
  "A stored key that is not a valid header is ignored: %j",
  async (idempotencyKey) => {
    const { client, requests } = createTestClient(() => streamResponse(streamText("Hi")));
    const storage = memoryStorage();
    const message = {
      role: "assistant",
      content: "",
      outcome: "truncated",
      error: { reason: "interrupted" },
      idempotencyKey,
    };
    await storage.write("chat/a", new Map([["m-1", { message, parent: null, revision: 1 }]]));
    const chat = createChatStore(client, { id: "a", model: "delta-5.3", storage, instructions: "Be brief" });
    const turn = await chat.retry();
    expect([turn.outcome, findKey(requests[0])]).toEqual([
      "complete",
      expect.stringMatching(/^[\da-f-]{7,}$/),
    ]);
  },
);

describe("The idempotency key of a response", () => {
  /** Creates chats of devices that do not see each other. Each has its own copy of the stored records. */
  function createDevices(respond: (nth: number) => Response, options: Partial<ChatStoreOptions> = {}) {
    let count = 0;
    const { client, requests } = createTestClient(() => respond(count++));
    const open = (storage: ChatStorage | undefined, own: Partial<ChatStoreOptions> = {}) =>
      createChatStore(client, {
        id: "a",
        model: "alpha-v4.1-flash",
        ...(storage && { storage }),
        ...options,
        ...own,
      } as ChatStoreOptions);
    const copyStorage = async (storage: ChatStorage, isCopied: (record: unknown) => boolean = () => true) => {
      const copy = memoryStorage();
      const records = [...(await storage.read("chat/a"))].filter(([, record]) => isCopied(record));
      await copy.write("chat/a", new Map(records));
      return copy;
    };
    return { open, copyStorage, keys: () => requests.map(findKey) };
  }

  const fails = () => Response.json({ error: { message: "broken" } }, { status: 400 });
  const respond = () => streamResponse(streamText("Hi"));
  const isQuestion = (record: unknown) => (record as { message?: ChatMessage }).message?.role === "user";

  test("is the same if two devices retry a failed response, and differs from the first key", async () => {
    const { open, copyStorage, keys } = createDevices((nth) => (nth === 0 ? fails() : respond()));
    const storage = memoryStorage();
    const one = open(storage);
    await one.send("Hello");
    await settled();
    const other = open(await copyStorage(storage));
    expect([(await one.retry()).outcome, (await other.retry()).outcome]).toEqual(["complete", "complete"]);
    const [first, second, third] = keys();
    expect(second).toMatch(/^\d+(-\d+){3}$/);
    expect(third).toBe(second);
    expect(second).not.toBe(first);
  });

  test("is the key of the first request if a device retries a question without seeing its response", async () => {
    const { open, copyStorage, keys } = createDevices(respond);
    const storage = memoryStorage();
    await open(storage).send("Hello");
    await settled();
    expect((await open(await copyStorage(storage, isQuestion)).retry()).outcome).toBe("complete");
    expect(new Set(keys()).size).toBe(1);
  });

  test("is the same if two devices send the same step of a turn, and differs between steps", async () => {
    const look = defineTool({ name: "look", inputSchema: { type: "object" }, execute: () => "seen" });
    const calls = () => streamResponse(streamCalls({ "c-1": ["look", "{}"] }));
    const { open, copyStorage, keys } = createDevices((nth) => (nth % 2 === 0 ? calls() : respond()), {
      tools: [look],
    });
    const storage = memoryStorage();
    await open(storage).send("Hello");
    await settled();
    expect((await open(await copyStorage(storage, isQuestion)).retry()).outcome).toBe("complete");
    const [first, second, ...repeated] = keys();
    expect(repeated).toEqual([first, second]);
    expect(second).not.toBe(first);
  });

  test("is new after regenerate, for other options, and for a chat without storage", async () => {
    const { open, copyStorage, keys } = createDevices(respond);
    const storage = memoryStorage();
    const chat = open(storage);
    await chat.send("Hello");
    await settled();
    const question = await copyStorage(storage, isQuestion);
    await chat.regenerate();
    await chat.regenerate();
    await open(question, { params: { temperature: 0.5 } }).retry();
    const unstored = [open(undefined), open(undefined)];
    for (const each of unstored) await each.send("Hello");
    expect(new Set(keys()).size).toBe(6);
  });

  test("is new if the app has removed a response and requests it again", async () => {
    const { open, keys } = createDevices(respond);
    const chat = open(memoryStorage());
    const { messages } = await chat.send("Hello");
    chat.setMessages(messages.slice(0, 1));
    await chat.retry();
    expect(new Set(keys()).size).toBe(2);
  });

  test("is new, and the same on all devices, if the app has removed a response before a reload", async () => {
    const { open, copyStorage, keys } = createDevices(respond);
    const storage = memoryStorage();
    const chat = open(storage);
    const tab = open(storage);
    const leave = tab.subscribe(() => {});
    const { messages } = await chat.send("Hello");
    await expect.poll(() => tab.getSnapshot().messages).toHaveLength(2);
    chat.setMessages(messages.slice(0, 1));
    await expect.poll(() => tab.getSnapshot().messages).toHaveLength(1);
    await settled();
    const all = [open(await copyStorage(storage)), open(await copyStorage(storage)), tab];
    for (const device of all) expect((await device.retry()).outcome).toBe("complete");
    leave();
    const [first, second, ...others] = keys();
    expect(second).not.toBe(first);
    expect(others).toEqual([second, second]);
  });

  test("is the same if the first request was not sent", async () => {
    const client = { isOffline: true };
    const { open, copyStorage, keys } = createDevices(respond, {
      prepareMessages: (messages) => {
        if (client.isOffline) throw new Error("offline");
        return messages;
      },
    });
    const storage = memoryStorage();
    const chat = open(storage);
    expect((await chat.send("Hello")).outcome).toBe("not-sent");
    await settled();
    const copy = await copyStorage(storage);
    client.isOffline = false;
    await chat.retry();
    await open(copy).retry();
    expect(new Set(keys()).size).toBe(1);
  });
});
