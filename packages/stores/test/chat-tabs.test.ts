import { defineTool } from "@sluice/core";
import { type ChatMessage, type ChatStorage, type ChatStore, memoryStorage } from "@sluice/stores";
import { afterEach, describe, expect, test, vi } from "vitest";
import { frame, settled } from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { hasCall, until } from "./support/chat.js";
import { openTab, readStored } from "./support/tabs.js";

afterEach(() => vi.unstubAllGlobals());

const schema = { inputSchema: { type: "object" } };
const confirmedTool = defineTool({ name: "asked", ...schema });

/** Responds to each pending action in every tab, as an app does for a client tool. */
function respondToAll({ chat }: { chat: ChatStore }): void {
  chat.subscribe(() => {
    for (const { toolCallId } of chat.getSnapshot().pendingActions)
      void chat.addToolOutput(toolCallId, "yes");
  });
}

const posts = (tabs: readonly { requests: readonly Request[] }[]) =>
  tabs.reduce((sum, { requests }) => sum + requests.length, 0);

/** Holds the lock of a message, as a tab that works on it. */
function workOn(id: string, messageId: string): () => void {
  let leave: () => void = () => {};
  const here = new Promise<void>((resolve) => {
    leave = resolve;
  });
  void navigator.locks.request(`sluice/chat/${id}/${messageId}`, { mode: "shared" }, () => here);
  return () => leave();
}

async function storeMessages(storage: ChatStorage, id: string, messages: readonly object[]): Promise<void> {
  const records = messages.map((message, index) => {
    const key = String(index + 1);
    return [
      key,
      {
        message: { id: key, createdAt: index, ...message },
        parent: index ? String(index) : null,
        revision: 1,
      },
    ] as const;
  });
  await storage.write(`chat/${id}`, new Map(records));
}

const question = { role: "user", content: "Go" };
const calling = (calls: Readonly<Record<string, string>>) => ({
  role: "assistant",
  content: "",
  outcome: "tool-calls",
  toolCalls: Object.entries(calls).map(([id, state]) => ({
    id,
    name: "asked",
    arguments: "{}",
    input: {},
    state,
  })),
});

describe("a chat in several tabs", () => {
  test("sends the messages of the other tab, too", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    const tabs = await Promise.all([1, 2].map(() => readStored(storage, { id })));
    const [left, right] = tabs as [(typeof tabs)[0], (typeof tabs)[0]];
    const turn = left.chat.send("Go");
    left.respond(0, streamText("Gone"));
    await turn;
    await until(right.chat, ({ messages }) => messages.at(-1)?.content === "Gone");
    right.respond(0, streamText("Here"));
    await right.chat.send("And now?");
    expect(await right.requests[0]?.json()).toMatchObject({
      messages: [{ content: "Go" }, { content: "Gone" }, { content: "And now?" }],
    });
    await until(left.chat, ({ messages }) => messages.length === 4);
    expect(left.listTexts()).toEqual(["Go", "Gone", "And now?", "Here"]);
  });

  test("accepts the result of a client tool once, even if several tabs add it", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    const tabs = await Promise.all([1, 2, 3].map(() => readStored(storage, { id, tools: [confirmedTool] })));
    for (const tab of tabs) respondToAll(tab);
    const [first] = tabs as [(typeof tabs)[0]];
    void first.chat.send("Go");
    first.respond(0, streamCalls({ a: ["asked", "{}"] }));
    first.respond(1, streamText("Done"));
    for (const { respond } of tabs.slice(1)) respond(0, streamText("Done"));
    for (const { chat } of tabs) await until(chat, ({ messages }) => messages.at(-1)?.content === "Done");
    await settled();
    expect(posts(tabs)).toBe(2);
    for (const { chat, listTexts } of tabs) {
      expect(listTexts()).toEqual(["Go", "", "Done"]);
      expect(chat.getSnapshot()).toMatchObject({ status: "ready", pendingActions: [] });
    }
  });

  test("runs a call once if two tabs approve it", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    let runs = 0;
    const guarded = defineTool({ name: "guarded", ...schema, needsApproval: true, execute: () => ++runs });
    const tabs = await Promise.all([1, 2].map(() => readStored(storage, { id, tools: [guarded] })));
    const [left, right] = tabs as [(typeof tabs)[0], (typeof tabs)[0]];
    const turn = left.chat.send("Go");
    left.respond(0, streamCalls({ a: ["guarded", "{}"] }));
    await turn;
    await until(right.chat, hasCall("needs-approval"));
    const approved = [right.chat.approve("a"), left.chat.approve("a")];
    right.respond(0, streamText("Done"));
    left.respond(1, streamText("Done"));
    await Promise.all(approved);
    expect(runs).toBe(1);
    expect(posts(tabs)).toBe(2);
    expect(left.listTexts()).toEqual(right.listTexts());
  });

  test("A second result of one call is refused while another call still waits, and nothing is sent", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    await storeMessages(storage, id, [question, calling({ a: "needs-output", b: "needs-output" })]);
    const tabs = await Promise.all([1, 2].map(() => readStored(storage, { id, tools: [confirmedTool] })));
    const turns = await Promise.all(tabs.map(({ chat }, nth) => chat.addToolOutput("a", nth)));
    expect(turns.map(({ outcome }) => outcome).sort()).toEqual(["not-sent", "tool-calls"]);
    await settled();
    expect(posts(tabs)).toBe(0);
    for (const { chat } of tabs)
      expect(chat.getSnapshot()).toMatchObject({
        status: "requires-action",
        pendingActions: [{ toolCallId: "b" }],
      });
  });

  test.each<[string, Partial<Parameters<typeof defineTool>[0]>]>([
    ["an approval", { needsApproval: true, execute: () => "ran" }],
    ["a result", {}],
  ])(
    "A call that would wait for %s is closed in all tabs if another tab continued the chat",
    async (_, options) => {
      const id = `tabs-${Math.random()}`;
      const storage = memoryStorage();
      const tool = defineTool({ name: "asked", ...schema, ...options });
      const tabs = await Promise.all([1, 2].map(() => readStored(storage, { id, tools: [tool] })));
      const [left, right] = tabs as [(typeof tabs)[0], (typeof tabs)[0]];
      const turn = left.chat.send("Go");
      await left.connections[0]?.wanted();
      left.connections[0]?.send(frame({ content: "Well" }));
      await settled();
      await left.clock.advance(1100);
      await until(right.chat, ({ messages }) => messages.at(-1)?.content === "Well");
      const next = right.chat.send("Something else");
      await settled();
      left.respond(0, streamCalls({ a: ["asked", "{}"] }));
      right.respond(0, streamText("Yes"));
      expect(await turn).toMatchObject({ outcome: "tool-calls" });
      await next;
      await settled();
      for (const { chat } of [...tabs, await readStored(storage, { id, tools: [tool] })]) {
        expect(chat.getSnapshot()).toMatchObject({ status: "ready", pendingActions: [] });
        expect(chat.getSnapshot().messages.at(-1)?.content).toBe("Yes");
        expect(chat.getSnapshot().messages[1]).toMatchObject({
          toolCalls: [{ state: "cancelled", error: "the user continued without the call" }],
        });
      }
    },
  );

  test("An open call in the middle of a stored thread is closed, and a call at its end waits", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    await storeMessages(storage, id, [
      question,
      calling({ a: "needs-approval", b: "done" }),
      { role: "user", content: "And?" },
      calling({ c: "needs-output" }),
    ]);
    const { chat } = await readStored(storage, { id, tools: [confirmedTool] });
    const { messages, pendingActions } = chat.getSnapshot();
    expect(messages[1]).toMatchObject({ toolCalls: [{ state: "cancelled" }, { state: "done" }] });
    expect(pendingActions).toMatchObject([{ toolCallId: "c" }]);
  });

  test("stops waiting for the turn of another tab when it is closed, and reports nothing", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    const leave = workOn(id, "2");
    await storeMessages(storage, id, [question, calling({ a: "running" })]);
    const tab = await readStored(storage, { id, tools: [confirmedTool] });
    await settled();
    tab.chat.close();
    await settled();
    leave();
    await settled();
    expect(tab.events).toEqual([]);
  });

  test("keeps the identity of messages that are read again and have not changed", async () => {
    const storage = memoryStorage();
    const tab = await readStored(storage, { id: `tabs-${Math.random()}`, tools: [confirmedTool] });
    const turn = tab.chat.send("Go");
    tab.respond(0, streamCalls({ a: ["asked", "{}"] }));
    await turn;
    const [sent] = tab.chat.getSnapshot().messages;
    const next = tab.chat.addToolOutput("a", "yes");
    tab.respond(1, streamText("Done"));
    await next;
    expect(tab.chat.getSnapshot().messages[0]).toBe(sent);
  });

  test("retries a failed response once if two tabs retry it", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    const tabs = await Promise.all([1, 2].map(() => readStored(storage, { id })));
    const [left, right] = tabs as [(typeof tabs)[0], (typeof tabs)[0]];
    const failed = left.chat.send("Hello");
    left.connections[0]?.drop();
    await failed;
    await settled();
    const turns = [left.chat.retry(), right.chat.retry()];
    left.respond(1, streamText("Hi"));
    right.respond(0, streamText("Hi"));
    expect((await Promise.all(turns)).map(({ outcome }) => outcome).sort()).toEqual(["complete", "not-sent"]);
    expect(posts(tabs)).toBe(2);
    for (const { listTexts } of tabs) expect(listTexts()).toEqual(["Hello", "Hi"]);
  });

  test("A retry that waits for another tab sends nothing if that tab has continued from the response", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    const quick = defineTool({ name: "quick", ...schema, execute: () => "done" });
    const tabs = await Promise.all([1, 2, 3].map(() => readStored(storage, { id, tools: [quick] })));
    const [first, ...others] = tabs as [(typeof tabs)[0], ...typeof tabs];
    const turn = first.chat.send("Go");
    for (const { chat } of others) await until(chat, ({ messages }) => messages.length === 2);
    const retried = others.map(({ chat }) => chat.retry());
    first.respond(0, streamCalls({ a: ["quick", "{}"] }));
    first.respond(1, streamText("Done"));
    for (const { respond } of others) respond(0, streamText("Done again"));
    expect(await turn).toMatchObject({ outcome: "complete" });
    for (const { outcome } of await Promise.all(retried)) expect(outcome).toBe("not-sent");
    expect(posts(tabs)).toBe(2);
    for (const { listTexts } of tabs) expect(listTexts()).toEqual(["Go", "", "Done"]);
  });

  test("The record of the last shown message is not shown as a message when it is damaged into one", async () => {
    const key = "/leaf";
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    await storeMessages(storage, id, [question, { role: "assistant", content: "Done", outcome: "complete" }]);
    const leave = workOn(id, key);
    await storage.write(`chat/${id}`, new Map([[key, { message: { role: "assistant" } }]]));
    const tab = await readStored(storage, { id });
    await storage.write(`chat/${id}`, new Map([[key, { message: { role: "assistant" } }]]));
    await settled();
    expect(tab.listTexts()).toEqual(["Go", "Done"]);
    expect(tab.chat.getThread()).toHaveLength(2);
    leave();
  });

  test("cancels a running call as soon as its tab is closed, and keeps a call that waits", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    const leave = workOn(id, "2");
    await storeMessages(storage, id, [question, calling({ a: "running", b: "needs-output" })]);
    const tab = await readStored(storage, { id, tools: [confirmedTool] });
    expect(hasCall("running", "a")(tab.chat.getSnapshot())).toBe(true);
    leave();
    await until(tab.chat, hasCall("cancelled", "a"));
    expect(tab.chat.getSnapshot().pendingActions).toMatchObject([{ toolCallId: "b" }]);
    const turn = tab.chat.addToolOutput("b", "yes");
    tab.respond(0, streamText("Done"));
    expect(await turn).toMatchObject({ outcome: "complete" });
    expect((await readStored(storage, { id })).listTexts()).toEqual(["Go", "", "Done"]);
  });

  test("continues in another tab if the tab with the result was closed before it continued", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    await storeMessages(storage, id, [question, calling({ a: "needs-output" })]);
    const tab = await readStored(storage, { id, tools: [confirmedTool] });
    const leave = workOn(id, "2");
    await settled();
    const turn = tab.chat.addToolOutput("a", "mine");
    await settled();
    expect(tab.requests).toHaveLength(0);
    const done = calling({ a: "done" });
    const toolCalls = done.toolCalls.map((call) => ({ ...call, output: "theirs" }));
    const message = { id: "2", createdAt: 1, ...done, toolCalls };
    await storage.write(`chat/${id}`, new Map([["2", { message, parent: "1", revision: 2 }]]));
    leave();
    tab.respond(0, streamText("Done"));
    expect(await turn).toMatchObject({ outcome: "complete" });
    const sent = await (tab.requests[0] as Request).json();
    expect(sent.messages.at(-1)).toMatchObject({ role: "tool", content: "theirs" });
  });

  /** Creates the storages of two tabs over one storage, with the broadcasts of the first tab. */
  function createBroadcastingStorages() {
    const inner = memoryStorage();
    let receive: (changes: ReadonlyMap<string, unknown>) => void = () => {};
    const broadcasts: ReadonlyMap<string, unknown>[] = [];
    const writes: ReadonlyMap<string, unknown>[] = [];
    const left: ChatStorage = {
      ...inner,
      write(collection, changes) {
        writes.push(changes);
        return inner.write(collection, changes);
      },
      broadcast(_, changes) {
        broadcasts.push(structuredClone(changes));
        receive(structuredClone(changes));
      },
    };
    const right: ChatStorage = {
      ...inner,
      subscribe(collection, listener) {
        // the client also listens for sign-outs
        if (collection.startsWith("chat/")) receive = listener;
        return inner.subscribe(collection, listener);
      },
    };
    return {
      left,
      right,
      broadcasts,
      writes,
      deliver: (...given: typeof broadcasts) => given.forEach(receive),
    };
  }

  test("shows the text of a response in flight in the other tabs before it is written", async () => {
    const id = `tabs-${Math.random()}`;
    const storages = createBroadcastingStorages();
    const [left, right] = [await readStored(storages.left, { id }), await readStored(storages.right, { id })];
    void left.chat.send("Hello");
    const [connection] = left.connections;
    await connection?.wanted();
    await until(right.chat, ({ messages }) => messages.length === 2);
    const written = storages.writes.length;
    for (const [piece, text] of [
      ["One", "One"],
      [", two", "One, two"],
    ] as const) {
      connection?.send(frame({ content: piece }));
      await connection?.wanted();
      await left.clock.advance(150);
      expect(right.listTexts()).toEqual(["Hello", text]);
    }
    expect(storages.writes).toHaveLength(written);
    left.chat.stop();
    await until(right.chat, ({ messages }) => messages.at(-1)?.outcome === "stopped");
    expect(right.listTexts()).toEqual(left.listTexts());
  });

  test("ignores late text of a response, and never writes the response of another tab", async () => {
    const id = `tabs-${Math.random()}`;
    const storages = createBroadcastingStorages();
    const rightWrites: unknown[] = [];
    const right = await readStored(
      {
        ...storages.right,
        async write(_, changes) {
          rightWrites.push(changes);
        },
      },
      { id },
    );
    const left = await readStored(storages.left, { id });
    void left.chat.send("Hello");
    const [connection] = left.connections;
    await connection?.wanted();
    for (const text of ["One", ", two"]) {
      connection?.send(frame({ content: text }));
      await connection?.wanted();
      await left.clock.advance(150);
    }
    storages.deliver(...storages.broadcasts.slice(0, 1));
    expect(right.listTexts()).toEqual(["Hello", "One, two"]);
    await right.clock.advance(5000);
    expect(rightWrites).toEqual([]);
    left.chat.stop();
    await until(right.chat, ({ messages }) => messages.at(-1)?.outcome === "stopped");
    storages.deliver(...storages.broadcasts);
    expect(right.chat.getSnapshot().messages.at(-1)).toMatchObject({
      content: "One, two",
      outcome: "stopped",
    });
  });

  test("ends a response in flight if another tab resets the chat", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    const [left, right] = [await readStored(storage, { id }), await readStored(storage, { id })];
    const turn = left.chat.send("Hello");
    const [connection] = left.connections;
    await connection?.wanted();
    connection?.send(frame({ content: "Half" }));
    await connection?.wanted();
    await left.clock.advance(1100);
    await until(right.chat, ({ messages }) => messages.length === 2);
    right.chat.reset();
    expect(await turn).toMatchObject({ outcome: "stopped" });
    expect(connection?.cancelled).toBe(true);
    await settled();
    for (const { listTexts } of [left, right, await readStored(storage, { id })])
      expect(listTexts()).toEqual([]);
  });

  /** Creates a storage of another tab, which gets changes only when `deliver` is called. */
  function createLateStorage(inner: ChatStorage) {
    let events: (() => void)[] | undefined;
    const late: ChatStorage = {
      ...inner,
      subscribe: (collection, listener) =>
        inner.subscribe(collection, (changes) => {
          if (events) events.push(() => listener(changes));
          else listener(changes);
        }),
    };
    const hold = () => {
      events = [];
    };
    const deliver = (max = Number.POSITIVE_INFINITY) => {
      for (const emit of events?.slice(0, max) ?? []) emit();
      events = undefined;
    };
    return { late, hold, deliver };
  }

  test("a removed response stays removed if another tab gets the removal after the lock is free", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    const { late, hold, deliver } = createLateStorage(storage);
    const [left, right] = [await readStored(storage, { id }), await readStored(late, { id })];
    void left.chat.send("Hello");
    const [connection] = left.connections;
    await connection?.wanted();
    connection?.send(frame({ content: "Half" }));
    await connection?.wanted();
    await left.clock.advance(1100);
    await until(right.chat, ({ messages }) => messages.at(-1)?.content === "Half");
    hold();
    left.chat.reset();
    await settled();
    deliver();
    await settled();
    expect((await storage.read(`chat/${id}`)).size).toBe(0);
    for (const { listTexts } of [left, right, await readStored(storage, { id })])
      expect(listTexts()).toEqual([]);
  });

  test("a message that another tab removes stays removed while an earlier change to it is being written", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    await storeMessages(storage, id, [question, calling({ a: "needs-output" })]);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: ChatStorage = {
      ...storage,
      async write(collection, changes) {
        if (changes.has("2")) await released;
        return storage.write(collection, changes);
      },
    };
    const [left, right] = [await readStored(storage, { id }), await readStored(slow, { id })];
    right.chat.stop();
    await settled();
    left.chat.reset();
    await settled();
    expect(right.listTexts()).toEqual([]);
    release();
    await settled();
    expect((await storage.read(`chat/${id}`)).size).toBe(0);
  });

  test("a response that another tab removes stays removed if its own tab writes it before it gets the removal", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    const { late, hold, deliver } = createLateStorage(storage);
    const [left, right] = [await readStored(storage, { id }), await readStored(late, { id })];
    void right.chat.send("Hello");
    const [connection] = right.connections;
    await connection?.wanted();
    await until(left.chat, ({ messages }) => messages.length === 2);
    hold();
    left.chat.reset();
    await settled();
    // it would remove the late write, too
    left.chat.close();
    connection?.send(frame({ content: "Half" }));
    await connection?.wanted();
    await right.clock.advance(1100);
    expect((await storage.read(`chat/${id}`)).size).toBeGreaterThan(0);
    // the others report its own writes
    deliver(1);
    await settled();
    expect([...(await storage.read(`chat/${id}`)).keys()]).not.toContainEqual(expect.stringMatching(/^[^/]/));
    expect(right.listTexts()).toEqual([]);
  });

  test("A message that a closed tab has removed stays removed if another tab writes it before it gets the removal", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    await storeMessages(storage, id, [question, calling({ a: "needs-output" })]);
    const { late, hold, deliver } = createLateStorage(storage);
    const [left, right] = [await readStored(storage, { id }), await readStored(late, { id })];
    hold();
    left.chat.reset();
    await settled();
    left.chat.close();
    right.chat.stop();
    await settled();
    expect((await storage.read(`chat/${id}`)).has("2")).toBe(true);
    deliver(1);
    await settled();
    expect([...(await storage.read(`chat/${id}`)).keys()]).not.toContainEqual(expect.stringMatching(/^[^/]/));
    for (const { listTexts } of [right, await readStored(storage, { id })]) expect(listTexts()).toEqual([]);
  });

  test("A removed message stays removed if the last write of a closed tab arrives later", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    await storeMessages(storage, id, [question, { role: "assistant", content: "Half" }]);
    const { chat, listTexts } = await readStored(storage, { id });
    chat.reset();
    await settled();
    // a remote storage writes it late, after its tab was closed
    await storeMessages(storage, id, [question, { role: "assistant", content: "Half and half" }]);
    await settled();
    expect((await storage.read(`chat/${id}`)).size).toBe(0);
    expect(listTexts()).toEqual([]);
  });

  test("a response that its closed tab could broadcast but not store stays in the other tabs", async () => {
    const id = `tabs-${Math.random()}`;
    const storages = createBroadcastingStorages();
    const full = {
      ...storages.left,
      write: () => Promise.reject(new DOMException("full", "QuotaExceededError")),
    };
    const [left, right] = [await readStored(full, { id }), await readStored(storages.right, { id })];
    void left.chat.send("Hello");
    const [connection] = left.connections;
    await connection?.wanted();
    connection?.send(frame({ content: "Half" }));
    await connection?.wanted();
    await left.clock.advance(150);
    await until(right.chat, ({ messages }) => messages.at(-1)?.content === "Half");
    left.chat.close();
    await until(right.chat, ({ messages }) => messages.at(-1)?.outcome === "truncated");
    expect(right.listTexts().at(-1)).toBe("Half");
  });

  test("A complete response stays complete and is not read again if another tab stores it as in flight", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    const tab = await readStored(storage, { id });
    void tab.chat.send("Hello");
    tab.respond(0, streamText("Good day"));
    await until(tab.chat, ({ status }) => status === "ready");
    await settled();
    const records = await storage.read(`chat/${id}`);
    const stored = [...records] as [string, { message: ChatMessage }][];
    const [key, record] = stored.filter(([, { message }]) => message?.content === "Good day")[0] ?? [];
    const { outcome: _, ...message } = { ...record?.message };
    const inFlight = { ...record, message: { ...message, content: "Good", streamId: "s-1" }, revision: 99 };
    await storage.write(`chat/${id}`, new Map([[String(key), inFlight]]));
    await settled();
    expect(tab.chat.getSnapshot().messages.at(-1)).toMatchObject({
      content: "Good day",
      outcome: "complete",
    });
    expect(posts([tab])).toBe(1);
  });

  test("ends a turn whose tools run if another tab resets the chat", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    const slow = defineTool({ name: "slow", ...schema, execute: () => new Promise(() => {}) });
    const [left, right] = [
      await readStored(storage, { id, tools: [slow] }),
      await readStored(storage, { id }),
    ];
    const turn = left.chat.send("Go");
    left.respond(0, streamCalls({ a: ["slow", "{}"] }));
    await until(right.chat, hasCall("running"));
    right.chat.reset();
    expect(await turn).toMatchObject({ outcome: "stopped" });
    await settled();
    for (const { listTexts } of [left, right, await readStored(storage, { id })])
      expect(listTexts()).toEqual([]);
    expect(posts([left, right])).toBe(1);
  });

  test("merges changes of two tabs to the calls of one message", async () => {
    const id = `tabs-${Math.random()}`;
    const storage = memoryStorage();
    await storeMessages(storage, id, [question, calling({ a: "needs-output", b: "needs-output" })]);
    const tabs = await Promise.all([1, 2].map(() => readStored(storage, { id, tools: [confirmedTool] })));
    const [left, right] = tabs as [(typeof tabs)[0], (typeof tabs)[0]];
    const turns = [left.chat.addToolOutput("a", "one"), right.chat.addToolOutput("b", "two")];
    for (const { connections } of tabs) {
      connections[0]?.send(streamText("Done"));
      connections[0]?.end();
    }
    await Promise.all(turns);
    for (const { chat } of tabs) await until(chat, ({ messages }) => messages.at(-1)?.content === "Done");
    expect(posts(tabs)).toBe(1);
    expect(left.chat.getSnapshot().messages).toEqual(right.chat.getSnapshot().messages);
  });
});

test("the lock of a first turn is requested before other tabs can read that the turn is in flight", async () => {
  const order: string[] = [];
  const aWhile = async () => {
    for (let nth = 0; nth < 4; nth += 1) await settled();
  };
  vi.stubGlobal("navigator", {
    locks: {
      query: async () => {
        await aWhile();
        return { held: [], pending: [] };
      },
      request: async (_: string, __: object, act: () => Promise<unknown>) => {
        order.push("lock");
        await act();
      },
    },
  });
  const storage = memoryStorage();
  // like a database: other tabs read only written records
  const write: ChatStorage["write"] = async (collection, records) => {
    await settled();
    if (JSON.stringify([...records.values()]).includes("assistant")) order.push("write");
    return storage.write(collection, records);
  };
  const { chat } = await readStored({ ...storage, write });
  await aWhile();
  void chat.send("Go");
  await until(chat, ({ messages }) => messages.length === 2);
  await aWhile();
  // the question and the draft with its key, before the request is sent
  expect(order).toEqual(["lock", "write"]);
  chat.close();
});

test("works in each tab separately if locks are refused, reports this once, and loses nothing", async () => {
  const refused = () => Promise.reject(new DOMException("access is denied", "SecurityError"));
  vi.stubGlobal("navigator", { locks: { request: refused, query: refused } });
  const storage = memoryStorage();
  const tabs = await Promise.all([1, 2].map(() => readStored(storage, { tools: [confirmedTool] })));
  const [left, right] = tabs as [(typeof tabs)[0], (typeof tabs)[0]];
  const turn = left.chat.send("Go");
  left.respond(0, streamCalls({ a: ["asked", "{}"] }));
  await turn;
  await settled();
  const turns = [left.chat.addToolOutput("a", 1), right.chat.addToolOutput("a", 1)];
  left.respond(1, streamText("left"));
  right.respond(0, streamText("right"));
  for (const { outcome } of await Promise.all(turns)) expect(outcome).toBe("complete");
  await settled();
  expect(left.chat.getSnapshot().messages.at(-1)?.branches).toHaveLength(2);
  for (const { events } of tabs)
    expect(events.filter(({ type }) => type === "feature-unavailable")).toMatchObject([
      { feature: "web-locks" },
    ]);
});

test("shows a response of another tab once it is complete, if tabs can't see each other's locks", async () => {
  vi.stubGlobal("navigator", undefined);
  const storage = memoryStorage();
  const [left, right] = [await readStored(storage), await readStored(storage)];
  const seen = new Set<string>();
  right.chat.subscribe(() => {
    for (const { role, outcome } of right.chat.getSnapshot().messages) seen.add(`${role} ${outcome}`);
  });
  const turn = left.chat.send("Go");
  const [connection] = left.connections;
  await connection?.wanted();
  connection?.send(frame({ content: "Half" }));
  await connection?.wanted();
  await left.clock.advance(1100);
  await until(right.chat, ({ messages }) => messages.length > 0);
  left.respond(0, streamText(" an answer"));
  await turn;
  await until(right.chat, ({ messages }) => messages.at(-1)?.content === "Half an answer");
  expect([...seen]).toEqual(["user undefined", "assistant complete"]);
});

test("a chat that is closed at once reads nothing", async () => {
  const tab = openTab(memoryStorage());
  tab.chat.subscribe(() => {});
  tab.chat.close();
  await settled();
  expect(tab.events).toEqual([]);
});
