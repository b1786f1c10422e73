import { accumulate, type ChatDelta, createChatStore, createRegistry, emptyMessage } from "@sluice/core";
import { describe, expect, test } from "vitest";
import { clientOf, DONE, frame, openBody, settled, stoppedClock, streamAnswer } from "./support/gateway.js";

const hello = frame({ content: "Hel" }) + frame({ content: "lo" }) + frame({}, "stop") + DONE;

describe("accumulate", () => {
  const deltas: ChatDelta[] = [
    { type: "reasoning-delta", text: "Hm." },
    { type: "text-delta", text: "Hel" },
    { type: "tool-call-start", index: 0, id: "a", name: "f" },
    { type: "tool-call-start", index: 1, id: "b", name: "g" },
    { type: "tool-call-delta", index: 1, arguments: "{}" },
    { type: "text-delta", text: "lo" },
  ];

  test("folds deltas into a message, and leaves the messages before as they were", () => {
    const steps = [emptyMessage];
    for (const delta of deltas) steps.push(accumulate(steps.at(-1) ?? emptyMessage, delta));
    expect(steps.at(-1)).toEqual({
      role: "assistant",
      reasoning_content: "Hm.",
      content: "Hello",
      tool_calls: [
        { id: "a", type: "function", function: { name: "f", arguments: "" } },
        { id: "b", type: "function", function: { name: "g", arguments: "{}" } },
      ],
    });
    expect(steps[2]).toEqual({ role: "assistant", reasoning_content: "Hm.", content: "Hel" });
    expect(steps[0]).toEqual({ role: "assistant", content: "" });
  });

  test("keeps the identity of what did not change", () => {
    const before = deltas.slice(0, 4).reduce(accumulate, emptyMessage);
    const after = accumulate(before, deltas[4] as ChatDelta);
    expect(after.tool_calls?.[0]).toBe(before.tool_calls?.[0]);
    expect(accumulate(after, { type: "text-delta", text: "x" }).tool_calls).toBe(after.tool_calls);
    expect(accumulate(after, { type: "finish", finishReason: "stop", outcome: "complete" })).toBe(after);
  });
});

describe("a chat", () => {
  const params = { model: "delta-5.3" } as const;

  function live(options = {}) {
    const clock = stoppedClock();
    const connections = [openBody(), openBody()];
    const { client, requests } = clientOf((_, nth) => streamAnswer(connections[nth - 1]?.body ?? ""), {
      clock,
    });
    const chat = createChatStore(client, { params, ...options });
    return { clock, connection: connections[0] as ReturnType<typeof openBody>, connections, requests, chat };
  }

  test("goes from ready over submitted and streaming back to ready, with the answer in the thread", async () => {
    const { chat, clock, connection } = live();
    const seen: string[] = [];
    chat.subscribe(() => seen.push(chat.getSnapshot().status));
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", messages: [] });
    const answer = chat.send("Hello?");
    await connection.wanted();
    connection.send(hello.slice(0, -40));
    await connection.wanted();
    await clock.advance(100);
    connection.send(hello.slice(-40));
    connection.end();
    expect(await answer).toMatchObject({
      role: "assistant",
      content: "Hello",
      outcome: "complete",
      model: "delta-5.3",
    });
    expect([...new Set(seen)]).toEqual(["submitted", "streaming", "ready"]);
    expect(chat.getSnapshot().messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "Hello?"],
      ["assistant", "Hello"],
    ]);
  });

  test("tells the model the thread so far, and leaves out answers that never began", async () => {
    const { client, requests } = clientOf((_, nth) => (nth === 2 ? streamAnswer("") : streamAnswer(hello)));
    const chat = createChatStore(client, { params });
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

  test("publishes a burst of deltas once in throttleMs, and the end at once", async () => {
    const { chat, clock, connection } = live({ throttleMs: 50 });
    let told = 0;
    const answer = chat.send("Hello?");
    await connection.wanted();
    chat.subscribe(() => (told += 1));
    connection.send(frame({ content: "." }).repeat(500));
    await connection.wanted();
    await clock.advance(10);
    connection.send(frame({ content: "." }).repeat(500));
    await connection.wanted();
    await clock.advance(49);
    expect(told).toBeLessThanOrEqual(2);
    expect(chat.getSnapshot().messages.at(-1)?.content).toHaveLength(1000);
    connection.send(frame({}, "stop") + DONE);
    connection.end();
    await answer;
    expect(told).toBeLessThanOrEqual(3);
    expect(chat.getSnapshot()).toMatchObject({ status: "ready" });
  });

  test("stopped keeps the text that came, and the next message can be sent at once", async () => {
    const { chat, connection, connections } = live();
    const answer = chat.send("Hello?");
    await connection.wanted();
    connection.send(frame({ content: "Hel" }));
    await connection.wanted();
    chat.stop();
    const message = await answer;
    expect(message).toMatchObject({ content: "Hel", outcome: "stopped" });
    expect(message).not.toHaveProperty("error");
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    expect(connection.cancelled).toBe(true);
    const next = chat.send("Go on");
    connections[1]?.send(hello);
    connections[1]?.end();
    expect(await next).toMatchObject({ content: "Hello", outcome: "complete" });
  });

  test("shows a cut answer as truncated with its text, and a refused one as an error, until the next attempt", async () => {
    const { client } = clientOf((_, nth) =>
      nth === 1
        ? streamAnswer(frame({ content: "Hel" }))
        : nth === 2
          ? new Response("no", { status: 400 })
          : streamAnswer(hello),
    );
    const failures: unknown[] = [];
    const ended: unknown[] = [];
    const chat = createChatStore(client, {
      params,
      onError: (error) => failures.push(error),
      onFinish: (message) => ended.push(message),
    });
    expect(await chat.send("one")).toMatchObject({
      content: "Hel",
      outcome: "truncated",
      error: { reason: "truncated" },
    });
    expect(chat.getSnapshot()).toMatchObject({ status: "error", error: { reason: "truncated" } });
    expect(await chat.regenerate()).toMatchObject({ content: "", outcome: "error", error: { status: 400 } });
    expect(await chat.regenerate()).toMatchObject({ content: "Hello", outcome: "complete" });
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    expect(chat.getSnapshot().messages).toHaveLength(2);
    expect([failures.length, ended.length]).toEqual([2, 3]);
  });

  test("refuses a second message while an answer is under way, and sends nothing", async () => {
    const { chat, requests } = live();
    void chat.send("one");
    expect(await chat.send("two")).toBeUndefined();
    expect(await chat.regenerate()).toBeUndefined();
    await settled();
    expect(requests).toHaveLength(1);
    expect(chat.getSnapshot().messages.filter(({ role }) => role === "user")).toHaveLength(1);
    chat.stop();
  });

  test("cleared while an answer streams is empty and stays so", async () => {
    const { chat, connection } = live();
    const answer = chat.send("Hello?");
    await connection.wanted();
    connection.send(frame({ content: "Hel" }));
    await connection.wanted();
    chat.clear();
    expect(chat.getSnapshot()).toMatchObject({ messages: [], status: "ready" });
    await answer;
    expect(chat.getSnapshot()).toMatchObject({ messages: [], status: "ready" });
  });

  test("keeps the identity of messages that did not change", async () => {
    const { client } = clientOf(() => streamAnswer(hello));
    const chat = createChatStore(client, { params });
    await chat.send("one");
    const [first, second] = chat.getSnapshot().messages;
    await chat.send("two");
    expect(chat.getSnapshot().messages.slice(0, 2)).toEqual([first, second]);
    expect(chat.getSnapshot().messages[0]).toBe(first);
    expect(chat.getSnapshot().messages[1]).toBe(second);
  });

  test("asks for its parameters when it uses them", async () => {
    const { client, requests } = clientOf(() => streamAnswer(hello));
    let max_tokens = 1;
    const chat = createChatStore(client, { params: () => ({ ...params, max_tokens: max_tokens++ }) });
    await chat.send("one");
    await chat.send("two");
    expect(await Promise.all(requests.map(async (request) => (await request.json()).max_tokens))).toEqual([
      1, 2,
    ]);
  });
});

describe("a registry", () => {
  function registry() {
    const clock = stoppedClock();
    const disposed: string[] = [];
    const shared = createRegistry<string>({
      dispose: (value) => disposed.push(value),
      lingerMs: () => 1000,
      clock,
    });
    return { clock, disposed, shared };
  }

  test("makes a value once for all who ask by the same key", () => {
    const { shared } = registry();
    expect(shared.get("a", () => "first")).toBe("first");
    expect(shared.get("a", () => "second")).toBe("first");
    expect(shared.get("b", () => "second")).toBe("second");
  });

  test("disposes of a value a while after the last holder let go, and not if one comes back", async () => {
    const { clock, disposed, shared } = registry();
    const value = shared.get("a", () => "first");
    const first = shared.hold("a", value);
    const second = shared.hold("a", value);
    first();
    await clock.advance(5000);
    expect(disposed).toEqual([]);
    second();
    await clock.advance(999);
    const again = shared.hold("a", value);
    await clock.advance(5000);
    expect(disposed).toEqual([]);
    again();
    await clock.advance(1000);
    expect(disposed).toEqual(["first"]);
    expect(shared.get("a", () => "second")).toBe("second");
  });

  test("disposes of a value that was looked at and never held", async () => {
    const { clock, disposed, shared } = registry();
    shared.get("a", () => "first");
    await clock.advance(1000);
    expect(disposed).toEqual(["first"]);
  });
});
