import type { ClientOptions } from "@sluice/core";
import { createChatStore } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import {
  createTestClient,
  DONE,
  frame,
  openBody,
  settled,
  stoppedClock,
  streamResponse,
  yieldTask,
} from "../../core/test/support/gateway.js";

const hello = frame({ content: "Hel" }) + frame({ content: "lo" }) + frame({}, "stop") + DONE;

describe("a chat", () => {
  const model = "delta-5.3";

  function createLiveChat(options = {}) {
    const clock = stoppedClock();
    const connections = [openBody(), openBody()];
    const { client, requests } = createTestClient(
      (_, nth) => streamResponse(connections[nth - 1]?.body ?? ""),
      {
        clock,
      },
    );
    const chat = createChatStore(client, { model, ...options });
    return { clock, connection: connections[0] as ReturnType<typeof openBody>, connections, requests, chat };
  }

  test("shows ready, submitted, streaming and ready again, with the response in the thread", async () => {
    const { chat, clock, connection } = createLiveChat();
    const seen: string[] = [];
    chat.subscribe(() => seen.push(chat.getSnapshot().status));
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", messages: [] });
    const sending = chat.send("Hello?");
    await connection.wanted();
    connection.send(hello.slice(0, -40));
    await connection.wanted();
    await clock.advance(100);
    connection.send(hello.slice(-40));
    connection.end();
    expect(await sending).toMatchObject({
      messages: [
        { role: "user", content: "Hello?" },
        { role: "assistant", content: "Hello", outcome: "complete", model: "delta-5.3" },
      ],
      outcome: "complete",
    });
    expect(seen.join(" ")).toMatch(/^(submitted )+(streaming )+ready$/);
    expect(chat.getSnapshot().messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "Hello?"],
      ["assistant", "Hello"],
    ]);
  });

  test("sends the thread to the model, without empty responses", async () => {
    const { client, requests } = createTestClient((_, nth) =>
      nth === 2 ? streamResponse("") : streamResponse(hello),
    );
    const chat = createChatStore(client, { model });
    await chat.send("one");
    await chat.send("two");
    await chat.send("three");
    expect(await requests[2]?.json()).toEqual({
      model: "delta-5.3",
      stream: true,
      messages: [
        { role: "user", content: "one" },
        { role: "assistant", content: "Hello" },
        { role: "user", content: "two" },
        { role: "user", content: "three" },
      ],
    });
  });

  test("notifies once per throttleMs during a burst of deltas, and at once at the end", async () => {
    const { chat, clock, connection } = createLiveChat({ throttleMs: 50 });
    let notified = 0;
    const sending = chat.send("Hello?");
    await connection.wanted();
    chat.subscribe(() => (notified += 1));
    connection.send(frame({ content: "." }).repeat(500));
    await connection.wanted();
    await clock.advance(10);
    connection.send(frame({ content: "." }).repeat(500));
    await connection.wanted();
    await clock.advance(49);
    expect(notified).toBeLessThanOrEqual(2);
    expect(chat.getSnapshot().messages.at(-1)?.content).toHaveLength(1000);
    connection.send(frame({}, "stop") + DONE);
    connection.end();
    await sending;
    expect(notified).toBeLessThanOrEqual(3);
    expect(chat.getSnapshot()).toMatchObject({ status: "ready" });
  });

  test("keeps the text after stop, and sends the next message at once", async () => {
    const { chat, connection, connections } = createLiveChat();
    const sending = chat.send("Hello?");
    await connection.wanted();
    connection.send(frame({ content: "Hel" }));
    await connection.wanted();
    chat.stop();
    const turn = await sending;
    expect(turn).toMatchObject({
      messages: [{}, { content: "Hel", outcome: "stopped" }],
      outcome: "stopped",
    });
    expect(turn).not.toHaveProperty("error");
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    expect(connection.cancelled).toBe(true);
    const next = chat.send("Go on");
    connections[1]?.send(hello);
    connections[1]?.end();
    expect(await next).toMatchObject({ messages: [{}, { content: "Hello" }], outcome: "complete" });
  });

  test("keeps text that was read but not shown before stop", async () => {
    const { chat, connection } = createLiveChat({ throttleMs: 0 });
    const unsubscribe = chat.subscribe(() => {
      if (chat.getSnapshot().messages.at(-1)?.content !== "Hel") return;
      unsubscribe();
      chat.stop();
    });
    const sending = chat.send("Hello?");
    await connection.wanted();
    connection.send(frame({ content: "Hel" }) + frame({ content: "lo" }) + frame({ content: "!" }));
    expect(await sending).toMatchObject({ messages: [{}, { content: "Hello!" }], outcome: "stopped" });
    expect(chat.getSnapshot().messages.at(-1)).toMatchObject({ content: "Hello!", outcome: "stopped" });
  });

  test("shows a lost response as truncated with its text, and a rejected request as an error, until the next request", async () => {
    const { client } = createTestClient((_, nth) =>
      nth === 1
        ? streamResponse(frame({ content: "Hel" }))
        : nth === 2
          ? new Response("no", { status: 400 })
          : streamResponse(hello),
    );
    const failures: unknown[] = [];
    const ended: unknown[] = [];
    const chat = createChatStore(client, {
      model,
      onError: (error) => failures.push(error),
      onFinish: (message) => ended.push(message),
    });
    expect(await chat.send("one")).toMatchObject({
      messages: [{}, { content: "Hel", outcome: "truncated" }],
      outcome: "truncated",
      error: { reason: "truncated", partial: { content: "Hel" } },
    });
    expect(chat.getSnapshot()).toMatchObject({ status: "error", error: { reason: "truncated" } });
    expect(await chat.retry()).toMatchObject({ outcome: "error", error: { status: 400 } });
    expect(await chat.retry()).toMatchObject({ messages: [{ content: "Hello" }], outcome: "complete" });
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    expect(chat.getSnapshot().messages).toHaveLength(2);
    expect([failures.length, ended.length]).toEqual([2, 3]);
  });

  test.each<[string, Partial<ClientOptions>, object, object]>([
    [
      "headers that reject",
      { headers: () => Promise.reject(new Error("no session")) },
      {},
      { message: expect.stringContaining("no session") },
    ],
    [
      "a key that throws",
      { apiKey: () => Promise.reject(new Error("no key")), dangerouslyAllowBrowser: true },
      {},
      { message: expect.stringContaining("no key") },
    ],
    ["a parameter that breaks a rule", {}, { max_tokens: -1 }, { name: "ValidationError" }],
  ])(
    "ends a turn that failed before it was sent as not-sent, without an empty response: %s",
    async (_, client, params, error) => {
      const gateway = createTestClient(() => streamResponse(hello), client);
      const chat = createChatStore(gateway.client, { model, params });
      expect(await chat.send("Hello?")).toMatchObject({
        messages: [{ role: "user", content: "Hello?" }],
        outcome: "not-sent",
        error,
      });
      expect(chat.getSnapshot()).toMatchObject({ status: "error", error, messages: [{ role: "user" }] });
      expect(chat.getSnapshot().messages).toHaveLength(1);
      expect(gateway.requests).toHaveLength(0);
    },
  );

  test("refuses a second message while a response is in flight, and sends nothing", async () => {
    const { chat, requests } = createLiveChat();
    void chat.send("one");
    for (const turn of [await chat.send("two"), await chat.regenerate(), await chat.retry()])
      expect(turn).toMatchObject({
        messages: [],
        outcome: "not-sent",
        error: { name: "ConfigurationError" },
      });
    await settled();
    expect(requests).toHaveLength(1);
    expect(chat.getSnapshot().messages.filter(({ role }) => role === "user")).toHaveLength(1);
    chat.stop();
  });

  test("stays empty after a reset during a response", async () => {
    const { chat, connection } = createLiveChat();
    const sending = chat.send("Hello?");
    await connection.wanted();
    connection.send(frame({ content: "Hel" }));
    await connection.wanted();
    chat.reset();
    expect(chat.getSnapshot()).toMatchObject({ messages: [], status: "ready" });
    await sending;
    expect(chat.getSnapshot()).toMatchObject({ messages: [], status: "ready" });
  });

  test("has no error while the next request is in flight", async () => {
    const { chat, connections } = createLiveChat();
    const failed = chat.send("Hello?");
    connections[0]?.drop();
    await failed;
    expect(chat.getSnapshot().status).toBe("error");
    void chat.send("Hello?");
    await settled();
    expect(chat.getSnapshot()).toMatchObject({ status: "submitted", error: undefined });
    chat.stop();
  });

  test("has no error after a reset", async () => {
    const { client } = createTestClient(() => new Response("no", { status: 400 }));
    const chat = createChatStore(client, { model });
    await chat.send("Hello?");
    expect(chat.getSnapshot().status).toBe("error");
    chat.reset();
    expect(chat.getSnapshot()).toMatchObject({ messages: [], status: "ready", error: undefined });
  });

  test("lets the page render during a burst, at least every eight milliseconds", async () => {
    // the clock advances by one millisecond per delta, and not while the page renders
    let now = 0;
    const clock = { ...stoppedClock(), now: () => ++now };
    const deltas = 2000;
    const { client } = createTestClient(
      () => streamResponse(frame({ content: "." }).repeat(deltas) + frame({}, "stop") + DONE),
      { clock },
    );
    const chat = createChatStore(client, { model });
    const sending = chat.send("Hello?");
    let isOver = false;
    sending.finally(() => {
      isOver = true;
    });
    let longest = 0;
    for (let before = now; !isOver; before = now) {
      await yieldTask();
      longest = Math.max(longest, now - before);
    }
    expect((await sending)?.messages.at(-1)?.content).toHaveLength(deltas);
    expect(now).toBeGreaterThan(deltas);
    expect(longest).toBeLessThan(20);
  });

  test("keeps the identity of messages that did not change", async () => {
    const { client } = createTestClient(() => streamResponse(hello));
    const chat = createChatStore(client, { model });
    await chat.send("one");
    const [first, second] = chat.getSnapshot().messages;
    await chat.send("two");
    expect(chat.getSnapshot().messages.slice(0, 2)).toEqual([first, second]);
    expect(chat.getSnapshot().messages[0]).toBe(first);
    expect(chat.getSnapshot().messages[1]).toBe(second);
  });

  test("reads its parameters and headers at each use", async () => {
    const { client, requests } = createTestClient(() => streamResponse(hello));
    let max_tokens = 1;
    const chat = createChatStore(client, () => ({
      model,
      params: { max_tokens },
      headers: { "x-turn": String(max_tokens) },
    }));
    await chat.send("one");
    max_tokens = 2;
    await chat.send("two");
    expect(await Promise.all(requests.map(async (request) => (await request.json()).max_tokens))).toEqual([
      1, 2,
    ]);
    expect(requests.map(({ headers }) => headers.get("x-turn"))).toEqual(["1", "2"]);
  });
});
