import { defineTool } from "@sluice/core";
import {
  type ChatStorage,
  type ChatStoreOptions,
  createChatStore,
  memoryStorage,
  type SendOptions,
} from "@sluice/stores";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { callAnswer, textAnswer } from "../../core/test/support/answers.js";
import {
  clientOf,
  DONE,
  decodeBase64,
  frame,
  settled,
  streamAnswer,
  waitForTurn,
  waitUntil,
} from "../../core/test/support/gateway.js";
import { createChat, createLiveChat, until } from "./support/chat.js";
import { readStored } from "./support/tabs.js";

const model = "alpha-v4.1-flash";
const whenBusy = "queue" as const;
const guarded = defineTool({
  name: "pay",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => "paid",
});
const pays = callAnswer({ a: ["pay", "{}"] });
const hello = textAnswer("Hello");

/** Creates a chat with a queue whose responses arrive at once. */
function createQueuedChat(
  answers: readonly (string | (() => Response))[],
  options: Partial<ChatStoreOptions> = {},
) {
  const { client, requests } = clientOf(
    (_, nth) => {
      const answer = answers[nth - 1] ?? hello;
      return typeof answer === "string" ? streamAnswer(answer) : answer();
    },
    { retry: { limit: 0 } },
  );
  const chat = createChatStore(client, { model, whenBusy, ...options } as ChatStoreOptions);
  const texts = () =>
    chat.getSnapshot().messages.flatMap(({ role, content }) => (role === "user" ? content : []));
  return { chat, requests, texts };
}

/** Counts the requests with the question `text`. */
async function countSent(text: string, tabs: readonly { requests: readonly Request[] }[]): Promise<number> {
  const requests = tabs.flatMap((tab) => tab.requests.map((request) => request.clone().json()));
  return (await Promise.all(requests)).filter(({ messages }) => messages.at(-1).content === text).length;
}

const refusal = () => Response.json({ error: { message: "who?" } }, { status: 401 });

describe("the queue of a chat", () => {
  test("A queued message waits while a tool call waits for the user, and both are shown", async () => {
    const { chat, requests, texts } = createQueuedChat([pays, hello], { tools: [guarded] });
    const first = chat.send("Pay Bob");
    const thanks = chat.send("Thanks");
    expect(await first).toMatchObject({ outcome: "tool-calls" });
    await settled();
    expect(chat.getSnapshot()).toMatchObject({
      status: "requires-action",
      pendingActions: [{ toolCallId: "a" }],
      queued: [{ content: "Thanks" }],
    });
    expect(requests).toHaveLength(1);
    expect(await chat.approve("a")).toMatchObject({ outcome: "complete" });
    expect(await thanks).toMatchObject({ outcome: "complete" });
    expect(texts()).toEqual(["Pay Bob", "Thanks"]);
    expect(chat.getSnapshot()).toMatchObject({ queued: [], status: "ready" });
  });

  test.each<[string, (string | (() => Response))[]]>([
    ["status 401", [refusal]],
    ["status 429", [() => new Response("", { status: 429, headers: { "retry-after": "86400" } })]],
    ["a cut", [frame({ content: "Hel" })]],
    ["no capacity", [frame({ content: "Hel" }) + frame({}, "insufficient_system_resource") + DONE]],
    ["the limit of steps", [callAnswer({ a: ["none", "{}"] })]],
  ])("Queued messages stay after %s, and follow the retry that succeeds", async (_, answers) => {
    const { chat, requests, texts } = createQueuedChat(answers, { maxSteps: 1 });
    const turns = ["one", "two", "three"].map((text) => chat.send(text));
    await turns[0];
    await settled();
    expect(requests).toHaveLength(1);
    expect(texts()).toEqual(["one"]);
    expect(chat.getSnapshot().queued).toMatchObject([{ content: "two" }, { content: "three" }]);
    expect(await chat.retry()).toMatchObject({ outcome: "complete" });
    expect((await Promise.all(turns.slice(1))).map(({ outcome }) => outcome)).toEqual([
      "complete",
      "complete",
    ]);
    expect(texts()).toEqual(["one", "two", "three"]);
    expect(requests).toHaveLength(4);
  });

  test("retry() sends the failed turn again, the others follow, and then there is nothing to retry", async () => {
    const { chat, texts } = createQueuedChat([refusal]);
    const turns = ["one", "two", "three"].map((text) => chat.send(text));
    await turns[0];
    expect(await chat.retry()).toMatchObject({ outcome: "complete", messages: [{ content: "Hello" }] });
    await Promise.all(turns);
    expect(texts()).toEqual(["one", "two", "three"]);
    expect(await chat.retry()).toMatchObject({
      outcome: "not-sent",
      error: { name: "ConfigurationError" },
    });
  });

  test("retry() sends nothing while a response is in flight", async () => {
    const { chat, requests } = createLiveChat({ whenBusy });
    void chat.send("one");
    void chat.send("two");
    expect(await chat.retry()).toMatchObject({ outcome: "not-sent" });
    await settled();
    expect(requests).toHaveLength(1);
    expect(chat.getSnapshot().queued).toMatchObject([{ content: "two" }]);
    chat.stop();
  });

  test("A message that is sent while others are held goes first, and they follow it", async () => {
    const { chat, texts } = createQueuedChat([refusal]);
    const turns = [chat.send("one"), chat.send("two")];
    await turns[0];
    expect(await chat.send("three")).toMatchObject({ outcome: "complete" });
    await turns[1];
    expect(texts()).toEqual(["one", "three", "two"]);
  });

  test("A queued message that can't be added is dropped, and the following messages are sent", async () => {
    const { chat, texts } = createQueuedChat([hello], { model: "gamma-chat-1-6-251015" });
    const picture = new Blob(["no picture"]);
    const turns = [chat.send("one"), chat.send("two", { images: [picture] }), chat.send("three")];
    expect(await Promise.all(turns)).toMatchObject([
      { outcome: "complete" },
      { outcome: "not-sent", messages: [], error: { name: "ValidationError" } },
      { outcome: "complete" },
    ]);
    expect(texts()).toEqual(["one", "three"]);
    expect(chat.getSnapshot().queued).toEqual([]);
  });
});

describe("the queue of a stored chat", () => {
  const bytes = "R0lGODlhAQABAAAAACw=";
  const image = `data:image/gif;base64,${bytes}`;

  /** Creates a storage whose page was closed during its first response, with queued messages. */
  async function left(...queued: (readonly [string, SendOptions["images"]?])[]) {
    const storage = memoryStorage();
    const id = `queue-${Math.random()}`;
    const first = await readStored(storage, { id, whenBusy });
    const turns = [
      first.chat.send("one"),
      ...queued.map(([text, images = []]) => first.chat.send(text, { images })),
    ];
    await settled();
    first.chat.close();
    await settled();
    // files are read meanwhile
    const isQueued = (key: string, record: unknown) => key.startsWith("/queued/") && record !== undefined;
    const count = async () =>
      [...(await storage.read(`chat/${id}`))].filter((entry) => isQueued(...entry)).length;
    await waitUntil(async () => (await count()) === queued.length);
    return { storage, id, turns: await Promise.all(turns) };
  }

  test("Queued messages survive a reload in order, and are not sent automatically", async () => {
    const { storage, id, turns } = await left(["two"], ["three"], ["four"]);
    expect(turns.slice(1)).toMatchObject(turns.slice(1).map(() => ({ outcome: "not-sent", messages: [] })));
    const later = await readStored(storage, { id, whenBusy });
    await settled();
    expect(later.chat.getSnapshot().queued).toMatchObject([
      { content: "two" },
      { content: "three" },
      { content: "four" },
    ]);
    expect(later.requests).toHaveLength(0);
  });

  test("A restored queue is sent after the next complete response, with its images, and leaves no record", async () => {
    const { storage, id } = await left(["two", [new Blob([new Uint8Array(decodeBase64(bytes))])]], ["three"]);
    const later = await readStored(storage, { id, whenBusy });
    await settled();
    const retried = later.chat.retry();
    for (const nth of [0, 1, 2]) later.answer(nth, hello);
    expect(await retried).toMatchObject({ outcome: "complete" });
    await until(
      later.chat,
      ({ messages }) => messages.filter(({ content }) => content === "Hello").length === 3,
    );
    expect(later.chat.getSnapshot().messages.map(({ content }) => content)).toEqual([
      "one",
      "Hello",
      "two",
      "Hello",
      "three",
      "Hello",
    ]);
    expect(later.chat.getSnapshot().messages[2]?.images).toEqual([image]);
    await settled();
    expect([...(await storage.read(`chat/${id}`)).keys()].filter((key) => key.startsWith("/queued"))).toEqual(
      [],
    );
    expect((await readStored(storage, { id, whenBusy })).chat.getSnapshot().queued).toEqual([]);
  });

  test("Without Web Locks the user sends a restored queue, because another tab may have the same messages", async () => {
    vi.stubGlobal("navigator", undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    const { storage, id } = await left(["two"], ["three"]);
    const later = await readStored(storage, { id, whenBusy });
    await settled();
    const retried = later.chat.retry();
    for (const nth of [0, 1, 2]) later.answer(nth, hello);
    expect(await retried).toMatchObject({ outcome: "complete" });
    await settled();
    expect(later.chat.getSnapshot().queued).toMatchObject([{ content: "two" }, { content: "three" }]);
    expect(await later.chat.retry()).toMatchObject({
      outcome: "complete",
      messages: [{ content: "two" }, {}],
    });
    expect(await later.chat.retry()).toMatchObject({
      outcome: "complete",
      messages: [{ content: "three" }, {}],
    });
    expect(later.chat.getSnapshot().queued).toEqual([]);
  });

  test("A queued message with a file stays in the queue while its page is open", async () => {
    const storage = memoryStorage();
    const { chat, connections } = await readStored(storage, { id: `queue-${Math.random()}`, whenBusy });
    void chat.send("one");
    const next = chat.send("two", { images: [new Blob([new Uint8Array(decodeBase64(bytes))])] });
    for (let turn = 0; turn < 20; turn += 1) await waitForTurn();
    expect(chat.getSnapshot().queued).toMatchObject([{ content: "two" }]);
    for (const { send, end } of connections.slice(0, 2)) {
      send(hello);
      end();
    }
    expect(await next).toMatchObject({ outcome: "complete", messages: [{ images: [image] }, {}] });
  });

  test("stop() leaves restored messages in the queue, and the next complete response sends them", async () => {
    const { storage, id } = await left(["two"], ["three"]);
    const later = await readStored(storage, { id, whenBusy });
    await settled();
    later.chat.stop();
    expect(later.chat.getSnapshot().queued).toMatchObject([{ content: "two" }, { content: "three" }]);
    const turn = later.chat.retry();
    later.answer(0, hello);
    expect(await turn).toMatchObject({ outcome: "complete", messages: [{ content: "Hello" }] });
    await settled();
    expect(later.chat.getSnapshot()).toMatchObject({
      messages: [{ content: "one" }, {}, { content: "two" }, {}],
      queued: [{ content: "three" }],
    });
    later.chat.close();
  });

  test("A restored message that was removed or can't be added does not block the queue", async () => {
    const { storage, id } = await left(["two", [image]], ["three"]);
    const later = await readStored(storage, { id, whenBusy, model: "gamma-chat-1-6-251015" });
    await settled();
    const retried = later.chat.retry();
    for (const nth of [0, 1]) later.answer(nth, hello);
    expect(await retried).toMatchObject({ outcome: "complete" });
    await settled();
    // its caller is gone, so that it stays queued
    const [two, ...others] = later.chat.getSnapshot().queued;
    expect([two?.content, others]).toEqual(["two", []]);
    expect(await later.chat.retry()).toMatchObject({
      outcome: "not-sent",
      error: { name: "ValidationError" },
    });
    later.chat.cancelQueued(two?.id ?? "");
    later.chat.reset();
    expect(later.chat.getSnapshot().queued).toEqual([]);
    await settled();
    expect((await storage.read(`chat/${id}`)).size).toBeLessThan(2);
  });

  test("A page that crashes between any two writes sends a queued message once", async () => {
    const { storage, id } = await left(["two"]);
    const records = await storage.read(`chat/${id}`);
    const [key = ""] = [...records.keys()].filter((key) => key.startsWith("/queued/"));
    const messageId = key.slice("/queued/".length);
    // the thread has the message, and the queue still has its record
    const message = { id: messageId, role: "user", content: "two", createdAt: Date.now() };
    await storage.write(`chat/${id}`, new Map([[messageId, { message, parent: null, revision: 0 }]]));
    const { chat } = await readStored(storage, { id, whenBusy });
    expect(chat.getSnapshot().queued).toEqual([]);
    await settled();
    expect((await storage.read(`chat/${id}`)).has(key)).toBe(false);
  });

  test("Records that no chat has written are ignored", async () => {
    const storage = memoryStorage();
    const odd = [
      null,
      5,
      "x",
      [],
      {},
      { content: 5 },
      { content: " " },
      { content: "", images: ["javascript:0"] },
    ];
    await storage.write("chat/a", new Map(odd.map((record, nth) => [`/queued/${nth}`, record])));
    await storage.write(
      "chat/a",
      new Map([["/queued/good", { content: "good", images: [5], queuedAt: "x" }]]),
    );
    const { chat } = await readStored(storage, { whenBusy });
    expect(chat.getSnapshot().queued).toMatchObject([{ content: "good" }]);
  });

  test("Messages that two tabs queue in the same millisecond have the same order in both tabs", async () => {
    const queuedAt = 1000;
    const messages = ["one", "two", "three"].map(
      (content) => [`/queued/${content}`, { content, queuedAt }] as const,
    );
    const orders = [messages, messages.toReversed()].map(async (records) => {
      const storage = memoryStorage();
      await storage.write("chat/a", new Map(records));
      const { chat } = await readStored(storage, { whenBusy });
      return chat.getSnapshot().queued;
    });
    const [first, second] = await Promise.all(orders);
    expect(first).toHaveLength(3);
    expect(second).toEqual(first);
  });
});

describe("the queue of a chat in several tabs", () => {
  async function twoTabs() {
    const storage = memoryStorage();
    const id = `queue-${Math.random()}`;
    const [left, right] = await Promise.all([1, 2].map(() => readStored(storage, { id, whenBusy })));
    return { storage, id, left: left as NonNullable<typeof left>, right: right as NonNullable<typeof right> };
  }
  test("All tabs show a queued message, and only the tab that queued it sends it", async () => {
    const { left, right } = await twoTabs();
    const turns = [left.chat.send("one"), left.chat.send("two")];
    await settled();
    expect(right.chat.getSnapshot().queued).toMatchObject([{ content: "two" }]);
    const retried = right.chat.retry();
    left.answer(0, hello);
    left.answer(1, hello);
    await Promise.all(turns);
    expect(await retried).toMatchObject({ outcome: "not-sent" });
    await settled();
    expect(await countSent("two", [left, right])).toBe(1);
    expect(right.chat.getSnapshot().queued).toEqual([]);
  });

  test("A message that another tab drops is not sent, and its turn says so", async () => {
    const { left, right } = await twoTabs();
    const turns = [left.chat.send("one"), left.chat.send("two")];
    await settled();
    right.chat.cancelQueued(right.chat.getSnapshot().queued[0]?.id ?? "");
    await settled();
    expect(left.chat.getSnapshot().queued).toEqual([]);
    left.answer(0, hello);
    expect(await Promise.all(turns)).toMatchObject([
      { outcome: "complete" },
      { outcome: "not-sent", error: { message: expect.stringContaining("another tab") } },
    ]);
  });

  test("Exactly one other tab sends a queued message after its tab was closed", async () => {
    const { storage, id, left, right } = await twoTabs();
    const third = await readStored(storage, { id, whenBusy });
    const one = left.chat.send("one");
    void left.chat.send("two");
    await settled();
    left.chat.close();
    await one;
    await settled();
    for (const tab of [right, third]) {
      expect(tab.chat.getSnapshot().queued).toMatchObject([{ content: "two" }]);
      for (const nth of [0, 1, 2]) tab.answer(nth, hello);
    }
    await Promise.all([right.chat.retry(), third.chat.retry()]);
    await settled();
    expect(await countSent("two", [left, right, third])).toBe(1);
    expect(third.chat.getSnapshot().queued).toEqual([]);
  });
});

describe("a queue whose storage is full", () => {
  /** Creates a storage that rejects writes of tabs that use `full` while `disk.isFull`. */
  function createFullStorage() {
    const storage = memoryStorage();
    const disk = { isFull: false };
    const full: ChatStorage = {
      ...storage,
      async write(...given) {
        if (disk.isFull) throw new DOMException("there is no room left", "QuotaExceededError");
        return storage.write(...given);
      },
    };
    return { storage, id: `queue-${Math.random()}`, full, disk };
  }

  /** Opens two tabs with a queued message of the first tab. */
  async function twoTabs() {
    const { storage, id, full, disk } = createFullStorage();
    const left = await readStored(full, { id, whenBusy });
    const right = await readStored(storage, { id, whenBusy });
    const turns = [left.chat.send("one"), left.chat.send("two")];
    await settled();
    expect(right.chat.getSnapshot().queued).toMatchObject([{ content: "two" }]);
    return { storage, id, disk, left, right, turns };
  }

  /** Sends a question in the second tab, which then sends its own queued messages. */
  async function askElsewhere({ chat, answer }: Awaited<ReturnType<typeof readStored>>) {
    const turn = chat.send("three");
    await settled();
    answer(0, hello);
    expect(await turn).toMatchObject({ outcome: "complete" });
    await settled();
  }

  test("A stopped message is not sent by another tab, and leaves the storage when there is space", async () => {
    const { storage, id, disk, left, right, turns } = await twoTabs();
    disk.isFull = true;
    left.chat.stop();
    expect(await turns[1]).toMatchObject({ outcome: "not-sent" });
    await settled();
    await askElsewhere(right);
    expect([await countSent("two", [left, right]), right.chat.getSnapshot().queued]).toMatchObject([
      0,
      [{ content: "two" }],
    ]);
    disk.isFull = false;
    await left.clock.advance(60_000);
    await settled();
    expect(right.chat.getSnapshot().queued).toEqual([]);
    expect([...(await storage.read(`chat/${id}`)).keys()].join()).not.toContain("/queued/");
    expect(await countSent("two", [left, right])).toBe(0);
  });

  test("A sent message is not sent again by another tab", async () => {
    const { disk, left, right, turns } = await twoTabs();
    disk.isFull = true;
    left.answer(0, hello);
    await turns[0];
    await settled();
    left.answer(1, hello);
    expect(await turns[1]).toMatchObject({ outcome: "complete" });
    await settled();
    await askElsewhere(right);
    expect(await countSent("two", [left, right])).toBe(1);
  });

  test("A message of a closed tab is sent by exactly one other tab, even if the storage rejects its removal", async () => {
    const { storage, id, full, disk } = createFullStorage();
    const first = await readStored(storage, { id, whenBusy });
    // the tabs request the lock in this order
    const [left, right] = [
      await readStored(full, { id, whenBusy }),
      await readStored(storage, { id, whenBusy }),
    ];
    void first.chat.send("one");
    void first.chat.send("two");
    await settled();
    first.chat.close();
    await settled();
    disk.isFull = true;
    const turn = left.chat.retry();
    await settled();
    left.answer(0, hello);
    left.answer(1, hello);
    expect(await turn).toMatchObject({ outcome: "complete" });
    await settled();
    await askElsewhere(right);
    expect(await countSent("two", [first, left, right])).toBe(1);
  });
});

test("A queue without a storage ends with close(), and its turns say so", async () => {
  const { chat } = createChat([hello], { whenBusy });
  const turns = [chat.send("one"), chat.send("two")];
  chat.close();
  expect((await Promise.all(turns)).map(({ outcome }) => outcome)).toEqual(["stopped", "not-sent"]);
  expect(chat.getSnapshot().queued).toEqual([]);
});
