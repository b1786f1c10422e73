import { type ChatRequestMessage, repairMessages } from "@sluice/core";
import { type ChatMessage, createChatStore } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createTestClient, streamResponse } from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";

const user: ChatRequestMessage = { role: "user", content: "Go" };
const call = (id: string, text = "{}") => ({
  id,
  type: "function" as const,
  function: { name: "f", arguments: text },
});
const createCalls = (...calls: ReturnType<typeof call>[]): ChatRequestMessage => ({
  role: "assistant",
  content: "",
  tool_calls: calls,
});
const result = (id: string, content = id): ChatRequestMessage => ({
  role: "tool",
  tool_call_id: id,
  content,
});
const cancelled = (id: string) => ({
  role: "tool",
  tool_call_id: id,
  content: expect.stringContaining("cancelled"),
});

describe("repairMessages", () => {
  test("returns a valid history unchanged, message by message", () => {
    const history = [user, createCalls(call("a")), result("a"), user];
    const repaired = repairMessages(history);
    expect(repaired).toEqual(history);
    repaired.forEach((message, index) => {
      expect(message).toBe(history[index]);
    });
  });

  test.each<[string, ChatRequestMessage[], unknown[]]>([
    [
      "adds a result to a call that never got one",
      [user, createCalls(call("a")), user],
      [user, createCalls(call("a")), cancelled("a"), user],
    ],
    [
      "brings late results back behind their call, in its order",
      [createCalls(call("a"), call("b")), user, result("b"), result("a")],
      [createCalls(call("a"), call("b")), result("a"), result("b"), user],
    ],
    [
      "keeps the first of two results",
      [createCalls(call("a")), result("a", "1"), result("a", "2")],
      [createCalls(call("a")), result("a", "1")],
    ],
    ["drops a result without a call", [user, result("x")], [user]],
    [
      "drops a call whose arguments were cut off, unless it has a result",
      [createCalls(call("a", '{"x":'), call("b")), createCalls(call("c", '{"x":')), result("c")],
      [createCalls(call("b")), cancelled("b"), createCalls(call("c")), result("c")],
    ],
    [
      "writes {} for a call without arguments",
      [createCalls(call("a", "")), result("a")],
      [createCalls(call("a", "{}")), result("a")],
    ],
    [
      "drops a response without any content left",
      [user, createCalls(call("a", "{")), { role: "assistant", content: "" }, user],
      [user, user],
    ],
    [
      "keeps the text of a response whose calls are dropped",
      [{ role: "assistant", content: "Let me", tool_calls: [call("a", "{")] }],
      [{ role: "assistant", content: "Let me" }],
    ],
    [
      "tells two calls with the same id in different responses apart",
      [createCalls(call("a")), result("a", "1"), createCalls(call("a")), result("a", "2")],
      [createCalls(call("a")), result("a", "1"), createCalls(call("a")), result("a", "2")],
    ],
    [
      "tells two calls with the same id in one response apart, with their results in order",
      [createCalls(call("a"), call("a"), call("b")), result("a", "1"), result("a", "2"), result("b")],
      [createCalls(call("a"), call("a-1"), call("b")), result("a", "1"), result("a-1", "2"), result("b")],
    ],
    [
      "makes text of ids that are numbers",
      [createCalls(call(7 as never)), result(7 as never, "seven")],
      [createCalls(call("7")), result("7", "seven")],
    ],
  ])("%s", (_, history, expected) => {
    const before = JSON.stringify(history);
    expect(repairMessages(history)).toEqual(expected);
    expect(JSON.stringify(history)).toBe(before);
  });
});

describe("the messages that a chat sends", () => {
  async function sentFor(initialMessages: readonly ChatMessage[]) {
    const { client, requests } = createTestClient(() => streamResponse(streamText("Yes.")));
    const chat = createChatStore(client, { model: "alpha-v4.1-flash", initialMessages });
    await chat.send("Go on");
    return (await (requests[0] as Request).json()).messages;
  }
  const response = { id: "2", role: "assistant", content: "Fine.", reasoning: "Hm." } as const;

  test("contain the reasoning only of turns with tools", async () => {
    const toolCall = { id: "a", name: "f", arguments: "{}", input: {}, state: "done", output: null } as const;
    expect(
      await sentFor([
        { id: "0", role: "user", content: "one" },
        { ...response, id: "1" },
        { id: "3", role: "user", content: "two" },
        { id: "4", role: "assistant", content: "", reasoning: "First.", toolCalls: [toolCall] },
        { id: "5", role: "assistant", content: "Done.", reasoning: "Then." },
      ]),
    ).toEqual([
      { role: "user", content: "one" },
      { role: "assistant", content: "Fine." },
      { role: "user", content: "two" },
      { role: "assistant", content: "", reasoning_content: "First.", tool_calls: [call("a")] },
      { role: "tool", tool_call_id: "a", content: "null" },
      { role: "assistant", content: "Done.", reasoning_content: "Then." },
      { role: "user", content: "Go on" },
    ]);
  });

  test("contain images as parts after the text", async () => {
    const url = "https://files.test/a.png";
    expect(
      await sentFor([
        { id: "0", role: "user", content: "What is it?", images: [url] },
        { id: "1", role: "user", content: "", images: [url] },
      ]),
    ).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "image_url", image_url: { url } },
        ],
      },
      { role: "user", content: [{ type: "image_url", image_url: { url } }] },
      { role: "user", content: "Go on" },
    ]);
  });
});
