import { ConfigurationError, defineTool, type RecordStorage } from "@sluice/core";
import {
  type ChatMessage,
  type ChatStorage,
  type ChatStore,
  createChatStore,
  customStorage,
  memoryStorage,
} from "@sluice/stores";
import * as v from "valibot";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createTestClient, frame, settled, streamResponse } from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { hasCall, until } from "./support/chat.js";
import { copyAsClosedPage, openTab, readStored } from "./support/tabs.js";

describe("a chat with a storage", () => {
  test("shows the same thread after a reload, with its branches", async () => {
    const storage = memoryStorage();
    const first = openTab(storage);
    const turn = first.chat.send("Hello");
    await settled();
    first.respond(0, streamText("one"));
    await turn;
    const again = first.chat.regenerate();
    first.respond(1, streamText("two"));
    await again;
    first.chat.switchBranch(first.chat.getSnapshot().messages[1]?.branches?.[0] ?? "");
    first.respond(2, streamText("three"));
    await first.chat.send("And?");
    await settled();
    expect(first.listTexts()).toEqual(["Hello", "one", "And?", "three"]);

    const second = await readStored(storage);
    expect(second.chat.getSnapshot()).toEqual(first.chat.getSnapshot());
    second.chat.switchBranch(second.chat.getSnapshot().messages[1]?.branches?.[1] ?? "");
    expect(second.listTexts()).toEqual(["Hello", "two"]);
    await settled();
    expect((await readStored(storage)).listTexts()).toEqual(["Hello", "two"]);
  });

  test("works with a custom storage whose watch returns no function, and reports it", async () => {
    const memory = memoryStorage();
    const storage = customStorage({
      read: (collection) => memory.read(collection),
      write: (collection, changes) => memory.write(collection, changes),
      subscribe: (async () => {}) as never,
    });
    const { chat, events, respond } = openTab(storage);
    await until(chat, ({ persistence }) => persistence?.status !== "restoring");
    const turn = chat.send("Hello");
    await settled();
    respond(0, streamText("Hi"));
    expect(await turn).toMatchObject({ outcome: "complete" });
    chat.close();
    const problem = { message: "storage.subscribe() must return a function that ends the watching" };
    expect(events.filter(({ type }) => type === "storage-error")).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining(problem) }),
    );
    expect((await memory.read("chat/a")).size).toBeGreaterThan(0);
  });

  test("restores before it sends a message", async () => {
    const storage = memoryStorage();
    const first = openTab(storage);
    const turn = first.chat.send("Hello");
    await settled();
    first.respond(0, streamText("Hi"));
    await turn;
    const second = openTab(storage);
    expect(second.chat.getSnapshot()).toMatchObject({ persistence: { status: "restoring" }, messages: [] });
    const next = second.chat.send("Go on");
    expect(second.chat.getSnapshot().messages).toEqual([]);
    await until(second.chat, ({ persistence }) => persistence?.status !== "restoring");
    expect(second.chat.getSnapshot().persistence?.status).not.toBe("restoring");
    second.respond(0, streamText("Yes"));
    await next;
    expect(second.listTexts()).toEqual(["Hello", "Hi", "Go on", "Yes"]);
    expect((await (second.requests[0] as Request).json()).messages).toHaveLength(3);
  });

  test("shows a response as interrupted after a reload, and retries it", async () => {
    const storage = memoryStorage();
    const first = openTab(storage);
    void first.chat.send("Hello");
    const [connection] = first.connections;
    await connection?.wanted();
    connection?.send(frame({ content: "Half an ans" }));
    await connection?.wanted();
    await first.clock.advance(1100);

    const { storage: stored, id } = await copyAsClosedPage(storage);
    const second = await readStored(stored, { id });
    expect(second.chat.getSnapshot()).toMatchObject({
      status: "ready",
      messages: [{ content: "Hello" }, { content: "Half an ans", outcome: "truncated" }],
    });
    const turn = second.chat.retry();
    second.respond(0, streamText("A whole answer"));
    await turn;
    expect(second.listTexts()).toEqual(["Hello", "A whole answer"]);
    expect(second.chat.getSnapshot().messages[1]?.branches).toHaveLength(2);
  });

  test("sends cancelled results for tools that a reload ended, and keeps a call that waits for approval", async () => {
    const storage = memoryStorage();
    const tools = [
      defineTool({ name: "slow", inputSchema: {}, execute: () => new Promise(() => {}) }),
      defineTool({ name: "guarded", inputSchema: {}, needsApproval: true, execute: () => "ran" }),
    ];
    const first = openTab(storage, { tools });
    void first.chat.send("Go");
    await settled();
    first.respond(0, streamCalls({ a: ["slow", "{}"], b: ["guarded", "{}"] }));
    await until(first.chat, hasCall("running"));
    await settled();

    const { storage: stored, id } = await copyAsClosedPage(storage);
    const second = await readStored(stored, { id, tools });
    expect(second.chat.getSnapshot()).toMatchObject({
      status: "requires-action",
      pendingActions: [{ type: "approval", toolCallId: "b" }],
      messages: [{}, { toolCalls: [{ state: "cancelled" }, { state: "needs-approval" }] }],
    });
    const turn = second.chat.approve("b");
    await settled();
    second.respond(0, streamText("Done"));
    expect(await turn).toMatchObject({ outcome: "complete" });
    expect((await (second.requests[0] as Request).json()).messages.slice(2)).toEqual([
      { role: "tool", tool_call_id: "a", content: expect.stringContaining("page") },
      { role: "tool", tool_call_id: "b", content: "ran" },
    ]);
  });

  test("shows finished turns of another tab, and loses none", async () => {
    const storage = memoryStorage();
    const [left, right] = [await readStored(storage), await readStored(storage)];
    const first = left.chat.send("Hello");
    await settled();
    expect(right.listTexts()[0]).toBe("Hello");
    left.respond(0, streamText("Hi"));
    await first;
    await settled();
    expect(right.listTexts()).toEqual(["Hello", "Hi"]);
    expect(right.chat.getSnapshot().status).toBe("ready");

    const both = [left.chat.send("from the left"), right.chat.send("from the right")];
    await settled();
    left.respond(1, streamText("to the left"));
    right.respond(0, streamText("to the right"));
    await Promise.all(both);
    await settled();
    expect(left.listTexts()).toEqual(["Hello", "Hi", "from the left", "to the left"]);
    expect(right.listTexts()).toEqual(["Hello", "Hi", "from the right", "to the right"]);
    const versions = left.chat.getSnapshot().messages[2]?.branches ?? [];
    expect(versions).toHaveLength(2);
    const reloaded = await readStored(storage);
    const found = versions.map((id) => {
      reloaded.chat.switchBranch(id);
      return reloaded.listTexts()[2];
    });
    expect(found.sort()).toEqual(["from the left", "from the right"]);
  });

  test("shows the results of tool calls of another tab", async () => {
    const storage = memoryStorage();
    const tools = [
      defineTool({ name: "guarded", inputSchema: {}, needsApproval: true, execute: () => "ran" }),
    ];
    const [left, right] = [await readStored(storage, { tools }), await readStored(storage, { tools })];
    const turn = left.chat.send("Go");
    left.respond(0, streamCalls({ a: ["guarded", "{}"] }));
    await turn;
    await until(right.chat, hasCall("needs-approval"));
    const end = left.chat.approve("a");
    left.respond(1, streamText("Done"));
    await end;
    await until(right.chat, ({ messages }) => messages.at(-1)?.content === "Done");
    expect(hasCall("done")(right.chat.getSnapshot())).toBe(true);
  });

  test("ignores an older copy that arrives late", async () => {
    const storage = memoryStorage();
    const late: (() => void)[] = [];
    const slow: ChatStorage = {
      ...storage,
      subscribe: (collection, listener) =>
        storage.subscribe(collection, (changes) => void late.push(() => listener(changes))),
    };
    const tools = [defineTool({ name: "asked", inputSchema: {} })];
    const { chat, respond } = await readStored(slow, { tools });
    const turn = chat.send("Go");
    respond(0, streamCalls({ a: ["asked", "{}"], b: ["asked", "{}"] }));
    await turn;
    await settled();
    await chat.addToolOutput("a", 1);
    for (const tell of late) tell();
    expect(chat.getSnapshot().pendingActions).toMatchObject([{ toolCallId: "b" }]);
  });

  test("shows another version if the shown one was removed", async () => {
    const storage = memoryStorage();
    const { chat, respond, listTexts } = await readStored(storage);
    for (const [nth, text] of ["one", "two"].entries()) {
      const turn = nth === 0 ? chat.send("Hello") : chat.regenerate();
      respond(nth, streamText(text));
      await turn;
    }
    await settled();
    await storage.write("chat/a", new Map([[chat.getSnapshot().messages[1]?.id ?? "", undefined]]));
    await settled();
    expect(listTexts()).toEqual(["Hello", "one"]);
    expect(chat.getSnapshot().messages[1]).not.toHaveProperty("branches");
  });

  test("orders versions by age, in any order of the records", async () => {
    const storage = memoryStorage();
    const createEntry = (id: string, createdAt: number) =>
      [id, { message: { id, role: "user", content: id, createdAt }, parent: null, revision: 0 }] as const;
    await storage.write("chat/a", new Map([createEntry("young", 2), createEntry("old", 1)]));
    const { chat } = await readStored(storage);
    expect(chat.getSnapshot().messages).toMatchObject([{ id: "young", branches: ["old", "young"] }]);
  });

  test("loses no turn if one tab retries a failed response and another sends a question", async () => {
    const storage = memoryStorage();
    const [left, right] = [await readStored(storage), await readStored(storage)];
    const failed = left.chat.send("Hello");
    left.connections[0]?.drop();
    await failed;
    await settled();
    const turns = [left.chat.retry(), right.chat.send("And?")];
    await settled();
    left.respond(1, streamText("Hi"));
    right.respond(0, streamText("Yes"));
    expect(await Promise.all(turns)).toMatchObject([{ outcome: "complete" }, { outcome: "complete" }]);
    await settled();
    expect(left.listTexts()).toEqual(["Hello", "Hi"]);
    expect(right.listTexts()).toEqual(["Hello", "", "And?", "Yes"]);
    const reloaded = await readStored(storage);
    const ends = [left, right].map(({ chat }) => chat.getSnapshot().messages.at(-1) as ChatMessage);
    for (const { chat, listTexts } of [left, right, reloaded])
      for (const { id, content } of ends) {
        chat.switchBranch(id);
        expect(listTexts().at(-1)).toBe(content);
      }
  });

  test("shows messages after a removed one, in order of age", async () => {
    const ids = ["a", "b", "c", "d", "e", "f"];
    const records = ids.map((id, index) => {
      const role = index % 2 ? { role: "assistant", outcome: "complete" } : { role: "user" };
      const message = { id, content: id, createdAt: index, ...role };
      return [id, { message, parent: ids[index - 1] ?? null, revision: 0 }] as const;
    });
    for (const lost of ids) {
      const stored = memoryStorage();
      await stored.write("chat/a", new Map(records.filter(([id]) => id !== lost).reverse()));
      const { listTexts, respond, chat } = await readStored(stored);
      const left = ids.filter((id) => id !== lost);
      expect(listTexts()).toEqual(left);
      const turn = chat.send("g");
      respond(0, streamText("h"));
      await turn;
      await settled();
      expect((await readStored(stored)).listTexts()).toEqual([...left, "g", "h"]);
    }
    // the missing message arrives, and its successors follow it again
    const late = memoryStorage();
    const { listTexts } = await readStored(late);
    for (const [id, record] of [...records].reverse()) await late.write("chat/a", new Map([[id, record]]));
    await settled();
    expect(listTexts()).toEqual(ids);
  });

  test("shows a response of another tab as it grows, and as interrupted only after that tab is closed", async () => {
    const storage = memoryStorage();
    const left = await readStored(storage, { id: "live" });
    const turn = left.chat.send("Hello");
    const [connection] = left.connections;
    await connection?.wanted();
    connection?.send(frame({ content: "Half" }));
    await connection?.wanted();
    await left.clock.advance(1100);
    const right = await readStored(storage, { id: "live" });
    expect(right.chat.getSnapshot().messages[1]).toMatchObject({ content: "Half" });
    expect(right.chat.getSnapshot().messages[1]).not.toHaveProperty("outcome");
    connection?.send(frame({ content: " an" }));
    await connection?.wanted();
    await left.clock.advance(1100);
    await until(right.chat, ({ messages }) => messages[1]?.content === "Half an");
    left.respond(0, streamText(" answer"));
    await turn;
    await until(right.chat, ({ messages }) => messages[1]?.outcome === "complete");
    expect(right.listTexts()).toEqual(["Hello", "Half an answer"]);
  });

  test("shows a response as interrupted as soon as its tab is closed", async () => {
    const id = `gone-${Math.random()}`;
    const storage = memoryStorage();
    let leave: () => void = () => {};
    const here = new Promise<void>((resolve) => {
      leave = resolve;
    });
    void navigator.locks.request(`sluice/chat/${id}/2`, { mode: "shared" }, () => here);
    const createEntry = (message: object, parent: string | null) => ({ message, parent, revision: 1 });
    await storage.write(
      `chat/${id}`,
      new Map([
        ["1", createEntry({ id: "1", role: "user", content: "Hello" }, null)],
        ["2", createEntry({ id: "2", role: "assistant", content: "Half" }, "1")],
      ]),
    );
    const { chat } = await readStored(storage, { id });
    await until(chat, ({ messages }) => messages.length === 2);
    expect(chat.getSnapshot().messages[1]).not.toHaveProperty("outcome");
    leave();
    await until(chat, ({ messages }) => messages[1]?.outcome === "truncated");
  });

  test("keeps the error of a failed response", async () => {
    const storage = memoryStorage();
    const first = openTab(storage);
    const turn = first.chat.send("Hello");
    await settled();
    first.respond(0, frame({ content: "Ha" }));
    const { error } = await turn;
    await settled();
    const second = await readStored(storage);
    expect(second.chat.getSnapshot().messages[1]).toMatchObject({ content: "Ha", outcome: "truncated" });
    expect(second.chat.getSnapshot().messages[1]?.error).toMatchObject({
      name: error?.name,
      message: error?.message,
      reason: "truncated",
    });
  });

  test("prefers stored messages to initial ones", async () => {
    const storage = memoryStorage();
    const initialMessages = [{ id: "w", role: "assistant", content: "Welcome" }] as const;
    const first = await readStored(storage, { initialMessages });
    expect(first.listTexts()).toEqual(["Welcome"]);
    const turn = first.chat.send("Hello");
    first.respond(0, streamText("Hi"));
    await turn;
    await settled();
    const second = await readStored(storage, {
      initialMessages: [{ id: "x", role: "assistant", content: "Good day" }],
    });
    expect(second.listTexts()).toEqual(["Welcome", "Hello", "Hi"]);
    expect(second.chat.getSnapshot().messages[0]).not.toHaveProperty("branches");
  });

  test("prefers a single stored message to initial ones", async () => {
    const storage = memoryStorage();
    const message = { role: "assistant", content: "Welcome" };
    await storage.write("chat/a", new Map([["w", { message, parent: null, revision: 0 }]]));
    const initialMessages = [{ id: "x", role: "assistant", content: "Good day" }] as const;
    expect((await readStored(storage, { initialMessages })).listTexts()).toEqual(["Welcome"]);
  });

  test("stays empty after reset and a reload", async () => {
    const storage = memoryStorage();
    const first = await readStored(storage);
    const turn = first.chat.send("Hello");
    first.respond(0, streamText("Hi"));
    await turn;
    first.chat.reset();
    await settled();
    expect((await readStored(storage)).listTexts()).toEqual([]);
  });

  test("uses an object of a class by customStorage()", async () => {
    class Records implements RecordStorage {
      readonly #memory = memoryStorage();
      read(collection: string) {
        return this.#memory.read(collection);
      }
      write(collection: string, changes: ReadonlyMap<string, unknown>) {
        return this.#memory.write(collection, changes);
      }
      subscribe(...given: Parameters<RecordStorage["subscribe"]>) {
        return this.#memory.subscribe(...given);
      }
    }
    const records = new Records();
    const { chat, respond } = openTab(customStorage(records));
    await until(chat, ({ persistence }) => persistence?.status !== "restoring");
    const turn = chat.send("Hello");
    await settled();
    respond(0, streamText("Hi"));
    await turn;
    chat.close();
    await settled();
    expect((await readStored(customStorage(records))).listTexts()).toEqual(["Hello", "Hi"]);
  });

  test("rejects a storage that brings no code for chats, and names the function that adds it", () => {
    const { openChat: _, ...storage } = memoryStorage();
    expect(() => openTab(storage as ChatStorage)).toThrow(
      "storage: can't store chats: give indexedDBStorage(), or customStorage() with your own",
    );
  });

  test("continues without a failing storage, and emits an event", async () => {
    const broken = customStorage({
      read: () => Promise.reject(new Error("no access")),
      write: () => Promise.reject(new DOMException("full", "QuotaExceededError")),
      subscribe: () => () => {},
    });
    const { chat, respond, events } = await readStored(broken);
    expect(chat.getSnapshot().persistence?.status).not.toBe("restoring");
    const turn = chat.send("Hello");
    respond(0, streamText("Hi"));
    expect(await turn).toMatchObject({ outcome: "complete" });
    const failures = () =>
      events.flatMap((event) => (event.type === "storage-error" ? [String(event.error)] : []));
    await expect.poll(() => failures()).toContainEqual(expect.stringContaining("full"));
    expect(failures()).toContainEqual(expect.stringContaining("no access"));
  });

  test("writes records that did not fit with the next change", async () => {
    const storage = memoryStorage();
    let isFull = true;
    const small: ChatStorage = {
      ...storage,
      write: (collection, changes) =>
        isFull ? Promise.reject(new Error("full")) : storage.write(collection, changes),
    };
    const { chat, respond } = await readStored(small);
    const turn = chat.send("Hello");
    await settled();
    isFull = false;
    respond(0, streamText("Hi"));
    await turn;
    await settled();
    expect((await readStored(storage)).listTexts()).toEqual(["Hello", "Hi"]);
  });

  test("does not write a message that another tab removed", async () => {
    const storage = memoryStorage();
    const [left, right] = [await readStored(storage), await readStored(storage)];
    const turn = left.chat.send("Hello");
    left.respond(0, streamText("Hi"));
    await turn;
    await settled();
    const writes: unknown[] = [];
    storage.subscribe("chat/a", (changes) => writes.push(changes));
    left.chat.reset();
    await settled();
    expect(right.listTexts()).toEqual([]);
    expect(writes).toHaveLength(1);
  });

  test("ignores records that are not messages, and fields of another type", async () => {
    const storage = memoryStorage();
    const createEntry = (id: string, message: object, parent: unknown) =>
      [id, { message: { id, ...message }, parent, revision: 0 }] as const;
    await storage.write(
      "chat/a",
      new Map<string, unknown>([
        createEntry("1", { role: "user", content: "Hello" }, null),
        ["2", "text"],
        ["3", null],
        createEntry("4", { role: "robot", content: "" }, "1"),
        createEntry("5", { role: "user", content: 6 }, "1"),
        createEntry(
          "6",
          { id: 6, role: "assistant", content: {}, toolCalls: {}, outcome: [], usage: 7 },
          "1",
        ),
        createEntry("7", { role: "user", content: "a circle", images: ["x", null] }, "8"),
        createEntry("8", { role: "user", content: "a circle" }, "7"),
        ["/leaf", "8"],
      ]),
    );
    const { listTexts, chat } = await readStored(storage);
    expect(listTexts()).toEqual(["Hello", "", "a circle", "a circle"]);
    expect(chat.getSnapshot().messages[1]).toEqual({
      id: "6",
      role: "assistant",
      content: "",
      outcome: "truncated",
      error: expect.objectContaining({ reason: "interrupted" }),
    });
  });

  test("shows messages whose stored parent is not an id after the older messages", async () => {
    const storage = memoryStorage();
    const createEntry = (id: string, createdAt: number, parent: unknown) =>
      [id, { message: { role: "user", content: id, createdAt }, parent, revision: 0 }] as const;
    const records = [
      createEntry("one", 1, null),
      createEntry("two", 2, undefined),
      createEntry("three", 3, 7),
      createEntry("four", 4, 7),
    ];
    await storage.write("chat/a", new Map(records));
    expect((await readStored(storage)).listTexts()).toEqual(["one", "two", "three", "four"]);
  });

  test.each([
    ["[null]", [null]],
    ["[{}]", [{}]],
    ["numeric ids", [{ id: 7, name: "weather", arguments: 5, state: "dancing", error: {} }]],
    ["an output alone", [{ id: "c", name: "weather", arguments: "{", state: "done", output: null }]],
    ["text", "weather"],
  ])("shows a message whose tool calls are %s, and sends the next one", async (_, toolCalls) => {
    const storage = memoryStorage();
    const messages = ["Hello", "calls", "And?"].map((content, index) => {
      const id = `m${index}`;
      const call = index === 1 && { role: "assistant", outcome: "tool-calls", toolCalls };
      const message = { id, role: "user", content, createdAt: index, ...call };
      return [id, { message, parent: index ? `m${index - 1}` : null, revision: 1 }] as const;
    });
    await storage.write("chat/a", new Map(messages));
    const { chat, listTexts, respond } = await readStored(storage);
    expect(listTexts()).toEqual(["Hello", "calls", "And?"]);
    const turn = chat.send("More");
    respond(0, streamText("Yes"));
    expect(await turn).toMatchObject({ outcome: "complete" });
  });

  test("writes a response in flight once a second, not for each delta", async () => {
    const storage = memoryStorage();
    const writes: ReadonlyMap<string, unknown>[] = [];
    const counting: ChatStorage = {
      ...storage,
      write: (collection, changes) => {
        writes.push(changes);
        return storage.write(collection, changes);
      },
    };
    const { chat, clock, connections } = await readStored(counting);
    void chat.send("Hello");
    const [connection] = connections;
    await connection?.wanted();
    const before = writes.length;
    for (let time = 0; time < 3000; time += 50) {
      connection?.send(frame({ content: "." }));
      await connection?.wanted();
      await clock.advance(50);
    }
    expect(writes.length - before).toBeLessThanOrEqual(4);
    expect(writes.length - before).toBeGreaterThanOrEqual(2);
    // the response and the leaf, not the records that were written before
    expect(writes.at(-1)?.size).toBe(2);
    chat.stop();
  });

  describe("when the page is closed (with simulated events)", () => {
    async function textsAfterClose(storage: ChatStorage, opened: ChatStorage): Promise<readonly string[]> {
      onTestFinished(() => void vi.unstubAllGlobals());
      const window = new EventTarget();
      vi.stubGlobal("addEventListener", window.addEventListener.bind(window));
      vi.stubGlobal("removeEventListener", window.removeEventListener.bind(window));
      const { chat, clock, connections } = await readStored(opened);
      void chat.send("Hello");
      const connection = connections[0] as (typeof connections)[number];
      // a stalled storage delays the request
      await clock.advanceUntil(connection.wanted(), 100);
      connection.send(frame({ content: "Half an ans" }));
      await connection.wanted();
      await settled();
      window.dispatchEvent(new Event("pagehide"));
      await settled();
      const texts = (await readStored(storage)).listTexts();
      chat.stop();
      return texts;
    }

    test("writes pending changes", async () => {
      const storage = memoryStorage();
      expect(await textsAfterClose(storage, storage)).toEqual(["Hello", "Half an ans"]);
    });

    test("writes pending changes while an earlier write is in flight", async () => {
      const storage = memoryStorage();
      const endless: ChatStorage = {
        ...storage,
        async write(collection, changes) {
          await storage.write(collection, changes);
          await new Promise(() => {});
        },
      };
      expect(await textsAfterClose(storage, endless)).toEqual(["Hello", "Half an ans"]);
    });
  });

  test("releases the storage on close, and opens it again at the next use", async () => {
    const storage = memoryStorage();
    let watchers = 0;
    const counting: ChatStorage = {
      ...storage,
      subscribe: (collection, listener) => {
        watchers += 1;
        const stop = storage.subscribe(collection, listener);
        return () => {
          watchers -= 1;
          stop();
        };
      },
    };
    const { chat, respond } = await readStored(counting);
    // of its messages, and of sign-outs
    expect(watchers).toBe(2);
    chat.close();
    expect(watchers).toBe(0);
    const turn = chat.send("Hello");
    respond(0, streamText("Hi"));
    await turn;
    await settled();
    expect(watchers).toBe(2);
    expect((await readStored(storage)).listTexts()).toEqual(["Hello", "Hi"]);
  });

  test("reports a message that cannot be written once, with its id, and writes all others", async () => {
    const storage = memoryStorage();
    const small: ChatStorage = {
      ...storage,
      async write(collection, changes) {
        if (JSON.stringify([...changes]).length > 2000) throw new DOMException("full", "QuotaExceededError");
        await storage.write(collection, changes);
      },
    };
    const big = v.pipe(
      v.object({}),
      v.transform(() => 2n ** 64n),
    );
    const { chat, respond, events, listTexts } = await readStored(small, { outputSchema: big });
    const sendMessage = async (nth: number, text: string, response: string) => {
      const turn = chat.send(text);
      await settled();
      respond(nth, response);
      await turn;
      await settled();
    };
    await sendMessage(0, "one", streamText("{}"));
    await sendMessage(1, "x".repeat(3000), streamText("full"));
    await sendMessage(2, "three", streamText("Hi"));
    const lost = chat.getSnapshot().messages.slice(1, 3);
    const failures = events.filter((event) => event.type === "storage-error");
    expect(failures.map(({ messageId }) => messageId)).toEqual(lost.map(({ id }) => id));
    // the storage has an earlier copy of the response, but not of the question
    expect(listTexts()[1]).toBe("{}");
    expect((await readStored(storage)).listTexts()).toEqual(["one", "", "full", "three", "Hi"]);
  });

  test.each<[string, (chat: ChatStore) => void]>([
    ["stop()", (chat) => chat.stop()],
    ["close()", (chat) => chat.close()],
  ])("sends nothing after %s while it is read", async (_, end) => {
    const { storage, release } = createHeldStorage();
    const { chat, requests } = openTab(storage);
    const turns = [chat.send("Hello"), chat.retry(), chat.regenerate(), chat.approve("a")];
    end(chat);
    for (const turn of turns)
      expect(await turn).toMatchObject({ outcome: "not-sent", error: { name: "AbortError" } });
    release();
    await until(chat, ({ persistence }) => persistence?.status !== "restoring");
    await settled();
    expect(requests).toHaveLength(0);
    expect(chat.getSnapshot()).toMatchObject({ messages: [], status: "ready" });
  });

  test("stops waiting for the storage after 3 s, and merges its late records: the old thread first", async () => {
    const { storage, release } = createHeldStorage();
    const first = openTab(storage.inner);
    const sending = first.chat.send("Hello");
    await settled();
    first.respond(0, streamText("Hi"));
    await sending;
    await settled();
    const initialMessages = [{ role: "assistant", content: "Welcome" }] as const;
    const second = openTab(storage, { initialMessages });
    const turn = second.chat.send("Go on");
    await settled();
    await second.clock.advance(2999);
    expect(second.chat.getSnapshot().persistence?.status).toBe("restoring");
    await second.clock.advance(1);
    expect(second.chat.getSnapshot().persistence?.status).not.toBe("restoring");
    second.respond(0, streamText("Yes"));
    await turn;
    expect(second.listTexts()).toEqual(["Welcome", "Go on", "Yes"]);
    expect(second.events.filter(({ type }) => type === "storage-error")).toMatchObject([
      { error: { message: expect.stringContaining("3000 ms") } },
    ]);
    release();
    await until(second.chat, ({ messages }) => messages.length === 4);
    expect(second.listTexts()).toEqual(["Hello", "Hi", "Go on", "Yes"]);
    await settled();
    expect((await readStored(storage.inner)).listTexts()).toEqual(["Hello", "Hi", "Go on", "Yes"]);
  });

  test("reads a storage again after one failure, and after two failures a second later", async () => {
    const inner = memoryStorage();
    const first = openTab(inner);
    const sending = first.chat.send("Hello");
    await settled();
    first.respond(0, streamText("Hi"));
    await sending;
    await settled();
    let failing = 1;
    const storage: ChatStorage = {
      ...inner,
      read: (collection) =>
        failing-- > 0 ? Promise.reject(new Error("connection lost")) : inner.read(collection),
    };
    const second = await readStored(storage);
    expect(second.listTexts()).toEqual(["Hello", "Hi"]);
    expect(second.events).toEqual([]);
    failing = 2;
    const third = await readStored(storage);
    expect(third.events).toMatchObject([{ type: "storage-error", error: { message: "connection lost" } }]);
    const turn = third.chat.send("Go on");
    await settled();
    third.respond(0, streamText("Yes"));
    await turn;
    await third.clock.advance(1000);
    expect(third.listTexts()).toEqual(["Hello", "Hi", "Go on", "Yes"]);
    expect((await readStored(inner)).listTexts()).toEqual(["Hello", "Hi", "Go on", "Yes"]);
  });

  test("needs an id for its storage", () => {
    const { client } = createTestClient(() => streamResponse(""));
    expect(() => createChatStore(client, { model: "delta-5.3", storage: memoryStorage() })).toThrow(
      ConfigurationError,
    );
  });
});

/** Creates a storage whose reads wait until `release` is called. `inner` does not wait. */
function createHeldStorage() {
  const inner = memoryStorage();
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const read = (collection: string) => released.then(() => inner.read(collection));
  return { storage: { ...inner, read, inner }, release: () => release() };
}
