import { type ChatResult, streamChat } from "@sluice/core";
import { describe, expect, test } from "vitest";
import {
  catchError,
  createTestClient,
  DONE,
  event,
  frame,
  question,
  streamResponse,
} from "./support/gateway.js";

/** Reads a response in pieces of `size` bytes. */
function completeText(text: string, size = Number.POSITIVE_INFINITY) {
  const bytes = new TextEncoder().encode(text);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return streamChat(createTestClient(() => streamResponse(pieces)).client, question).result();
}

const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const named = (calls: ChatResult["toolCalls"]) => calls.map(({ id, name, input }) => ({ id, name, input }));

describe("fragments of a tool call form one call", () => {
  test.each([
    ["blank fields", { id: "", type: "", name: "" }],
    ["null", { id: null, type: null, name: null }],
  ])("if later fragments repeat its id, type and name as %s", async (_, { id, type, name }) => {
    const rest = (text: string) =>
      frame({ tool_calls: [{ index: 0, id, type, function: { name, arguments: text } }] });
    const first = { index: 0, id: "a", type: "function", function: { name: "weather", arguments: "" } };
    const text =
      frame({ tool_calls: [first] }) + rest('{"city":') + rest('"Rome"}') + frame({}, "tool_calls");
    expect(named((await completeText(text + DONE)).toolCalls)).toEqual([
      { id: "a", name: "weather", input: { city: "Rome" } },
    ]);
  });
});

test("Three calls in one delta without indexes are three calls", async () => {
  const calls = ["a", "b", "c"].map((id) => ({
    id,
    function: { name: `get_${id}`, arguments: `{"n":"${id}"}` },
  }));
  const { toolCalls } = await completeText(frame({ tool_calls: calls }) + frame({}, "tool_calls") + DONE);
  expect(named(toolCalls)).toEqual(
    ["a", "b", "c"].map((id) => ({ id, name: `get_${id}`, input: { n: id } })),
  );
});

test("A blank finish_reason does not end a response", async () => {
  const text = frame({ content: "Hel" }, "") + frame({ content: "lo" }, "");
  expect(await completeText(text + frame({}, "stop") + DONE)).toMatchObject({
    message: { content: "Hello" },
    outcome: "complete",
  });
  expect(await catchError(completeText(text))).toMatchObject({ name: "StreamError", reason: "truncated" });
});

test.each([
  ["max_tokens", "length"],
  ["MAX_TOKENS", "length"],
  ["max_output_tokens", "length"],
  ["model_length", "length"],
  ["SAFETY", "content-filter"],
  ["LENGTH", "length"],
  ["STOP", "complete"],
  ["end_turn", "complete"],
])("A finish_reason of another API has the equivalent outcome: %s", async (reason, outcome) => {
  const text = frame({ content: "Hello" }) + frame({}, reason) + DONE;
  expect(await completeText(text)).toMatchObject({ outcome, finishReason: reason });
});

test("A finish_reason of tool_use runs the tool calls", async () => {
  const call = { index: 0, id: "a", function: { name: "weather", arguments: "{}" } };
  const text = frame({ tool_calls: [call] }) + frame({}, "tool_use") + DONE;
  expect((await completeText(text)).outcome).toBe("tool-calls");
  // announced, and not there
  expect((await completeText(frame({}, "TOOL_USE") + DONE)).outcome).toBe("error");
});

test("A response that stops after its usage, without a reason and [DONE], is truncated, not complete", async () => {
  const error = await catchError(completeText(frame({ content: "Hello" }) + event({ choices: [], usage })));
  expect(error).toMatchObject({ name: "StreamError", reason: "truncated", partial: { content: "Hello" } });
});

test.each([
  ["an empty list", { choices: [], usage }],
  ["null", { choices: null, usage }],
  ["absent", { usage }],
])("Usage is read from a chunk whose choices are %s", async (_, chunk) => {
  const turn = await completeText(frame({ content: "Hello" }) + frame({}, "stop") + event(chunk) + DONE);
  expect(turn).toMatchObject({ message: { content: "Hello" }, outcome: "complete", usage });
});

test("A delta can contain thinking and text, and the last chunk can contain text", async () => {
  const text = frame({ reasoning_content: "Hm.", content: "Hel" }) + frame({ content: "lo" }, "stop") + DONE;
  expect((await completeText(text)).message).toMatchObject({ reasoning_content: "Hm.", content: "Hello" });
});

test("Chinese text and emoji are whole, in pieces of any size", async () => {
  const content = "你好，世界 🧑‍🚀 naïve";
  const text = frame({ content }) + frame({}, "stop") + DONE;
  for (let size = 1; size < 50; size += 1)
    expect((await completeText(text, size)).message.content).toBe(content);
});
