import { streamChat } from "@sluice/core";
import { checkRequest } from "@sluice/core/schemas";
import { describe, expect, test } from "vitest";
import { createTestClient, DONE, frame, streamResponse } from "./support/gateway.js";

const messages = [{ role: "user", content: "Hello" }];
const alpha = { model: "alpha-v4.1-flash", messages };
const gamma = { model: "gamma-chat-1-6-251015", messages };
const delta = { model: "delta-5.3", messages };
const image = (url: string, rest: object = {}) => ({
  role: "user",
  content: [{ type: "image_url", image_url: { url, ...rest } }],
});
const png = "data:image/png;base64,iVBORw0KGgo=";
const tool = { type: "function", function: { name: "weather", parameters: { type: "object" } } };
const call = { id: "c", type: "function", function: { name: "weather", arguments: "{}" } };

const accepted: [string, object][] = [
  ["alpha: the smallest request", alpha],
  [
    "alpha: every field at once",
    {
      ...alpha,
      thinking: { type: "disabled" },
      reasoning_effort: "low",
      max_tokens: 393_216,
      response_format: { type: "json_object" },
      stop: Array(16).fill("."),
      stream: true,
      stream_options: { include_usage: true },
      temperature: 2,
      top_p: 1,
      tools: [tool],
      tool_choice: "auto",
      frequency_penalty: -2,
      presence_penalty: 2,
      user_id: "a-B_9",
    },
  ],
  ["alpha: thinking null", { ...alpha, thinking: null }],
  ["alpha: one stop string", { ...alpha, stop: "END" }],
  [
    "alpha: parts with text and images",
    {
      ...alpha,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is it?" },
            { type: "image_url", image_url: { url: png, detail: "original" } },
          ],
        },
        image("https://img.test/a.jpg"),
      ],
    },
  ],
  [
    "alpha: a tool turn, with the reasoning echoed and null content",
    {
      ...alpha,
      tools: [tool],
      messages: [
        ...messages,
        { role: "assistant", content: null, reasoning_content: "Hm.", tool_calls: [call] },
        { role: "tool", content: "12 °C", tool_call_id: "c" },
      ],
    },
  ],
  [
    "alpha: a named tool choice",
    { ...alpha, tools: [tool], tool_choice: { type: "function", function: { name: "weather" } } },
  ],
  [
    "gamma: every field at once",
    {
      ...gamma,
      max_tokens: 8192,
      temperature: 2,
      top_p: 0,
      frequency_penalty: 2,
      presence_penalty: -2,
      stream: false,
      stop: "END",
    },
  ],
  [
    "delta: every field at once",
    {
      ...delta,
      thinking: { type: "enabled" },
      reasoning_effort: "max",
      max_tokens: 131_072,
      temperature: 1,
      top_p: 0,
      stop: Array(4).fill("."),
      stream: true,
    },
  ],
];

const refused: [string, object, string, string][] = [
  ["no messages", { model: "alpha-v4.1-flash" }, "messages", "chat.alpha.messages"],
  ["empty messages", { ...alpha, messages: [] }, "messages", "chat.alpha.messages"],
  [
    "an unknown role",
    { ...alpha, messages: [{ role: "boss", content: "x" }] },
    "messages.0.role",
    "chat.alpha.messages.role",
  ],
  [
    "no content",
    { ...alpha, messages: [{ role: "user" }] },
    "messages.0.content",
    "chat.alpha.messages.content",
  ],
  [
    "content of another type",
    { ...alpha, messages: [{ role: "user", content: 7 }] },
    "messages.0.content",
    "chat.alpha.messages.content",
  ],
  [
    "a part of another type",
    { ...alpha, messages: [{ role: "user", content: [{ type: "video" }] }] },
    "messages.0.content.0.type",
    "chat.alpha.messages.content.type",
  ],
  [
    "a text part without text",
    { ...alpha, messages: [{ role: "user", content: [{ type: "text" }] }] },
    "messages.0.content.0.text",
    "chat.alpha.messages.content.text",
  ],
  [
    "an image in a system message",
    { ...alpha, messages: [{ ...image(png), role: "system" }] },
    "messages.0.content.0.type",
    "chat.alpha.messages.content.type",
  ],
  [
    "an image URL that nobody can fetch",
    { ...alpha, messages: [image("blob:https://app.test/1")] },
    "messages.0.content.0.image_url.url",
    "chat.alpha.image-url",
  ],
  [
    "an image of another type",
    { ...alpha, messages: [image("data:image/svg+xml;base64,PHN2Zz4=")] },
    "messages.0.content.0.image_url.url",
    "chat.alpha.image-url",
  ],
  [
    "an unknown detail",
    { ...alpha, messages: [image(png, { detail: "best" })] },
    "messages.0.content.0.image_url.detail",
    "chat.alpha.messages.content.image-url.detail",
  ],
  [
    "a tool message without its call's id",
    { ...alpha, messages: [{ role: "tool", content: "x" }] },
    "messages.0.tool_call_id",
    "chat.alpha.messages.tool-call-id",
  ],
  [
    "null content without tool calls",
    { ...alpha, messages: [{ role: "assistant", content: null }] },
    "messages.0.content",
    "chat.alpha.content",
  ],
  [
    "thinking of another type",
    { ...alpha, thinking: { type: "on" } },
    "thinking.type",
    "chat.alpha.thinking.type",
  ],
  [
    "an unknown effort",
    { ...alpha, reasoning_effort: "medium" },
    "reasoning_effort",
    "chat.alpha.reasoning-effort",
  ],
  ["max_tokens 0", { ...alpha, max_tokens: 0 }, "max_tokens", "chat.alpha.max-tokens"],
  ["max_tokens above the limit", { ...alpha, max_tokens: 393_217 }, "max_tokens", "chat.alpha.max-tokens"],
  ["max_tokens with a fraction", { ...alpha, max_tokens: 1.5 }, "max_tokens", "chat.alpha.max-tokens"],
  [
    "an unknown response format",
    { ...alpha, response_format: { type: "yaml" } },
    "response_format.type",
    "chat.alpha.response-format.type",
  ],
  ["17 stop sequences", { ...alpha, stop: Array(17).fill(".") }, "stop", "chat.alpha.stop"],
  ["a temperature above 2", { ...alpha, temperature: 2.1 }, "temperature", "chat.alpha.temperature"],
  ["a top_p above 1", { ...alpha, top_p: 1.1 }, "top_p", "chat.alpha.top-p"],
  [
    "a penalty below -2",
    { ...alpha, presence_penalty: -2.1 },
    "presence_penalty",
    "chat.alpha.presence-penalty",
  ],
  [
    "a penalty above 2",
    { ...alpha, frequency_penalty: 2.1 },
    "frequency_penalty",
    "chat.alpha.frequency-penalty",
  ],
  [
    "a tool of another type",
    { ...alpha, tools: [{ ...tool, type: "web" }] },
    "tools.0.type",
    "chat.alpha.tools.type",
  ],
  [
    "a tool without a name",
    { ...alpha, tools: [{ type: "function", function: { parameters: {} } }] },
    "tools.0.function.name",
    "chat.alpha.tools.function.name",
  ],
  [
    "a tool without parameters",
    { ...alpha, tools: [{ type: "function", function: { name: "f" } }] },
    "tools.0.function.parameters",
    "chat.alpha.tools.function.parameters",
  ],
  [
    "parameters that are a list",
    { ...alpha, tools: [{ type: "function", function: { name: "f", parameters: [] } }] },
    "tools.0.function.parameters",
    "chat.alpha.tools.function.parameters",
  ],
  ["an unknown tool choice", { ...alpha, tool_choice: "any" }, "tool_choice", "chat.alpha.tool-choice"],
  [
    "a tool choice without a name",
    { ...alpha, tool_choice: { type: "function", function: {} } },
    "tool_choice.function.name",
    "chat.alpha.tool-choice.function.name",
  ],
  ["a user id with a space", { ...alpha, user_id: "a b" }, "user_id", "chat.alpha.user-id"],
  ["a user id of 513 characters", { ...alpha, user_id: "a".repeat(513) }, "user_id", "chat.alpha.user-id"],
  [
    "gamma: max_tokens above its limit",
    { ...gamma, max_tokens: 8193 },
    "max_tokens",
    "chat.gamma.max-tokens",
  ],
  ["gamma: a list of stop sequences", { ...gamma, stop: ["END"] }, "stop", "chat.gamma.stop"],
  [
    "gamma: an image",
    { ...gamma, messages: [image(png)] },
    "messages.0.content.0.type",
    "chat.gamma.messages.content.type",
  ],
  [
    "delta: thinking disabled",
    { ...delta, thinking: { type: "disabled" } },
    "thinking.type",
    "chat.delta.thinking.type",
  ],
  [
    "delta: effort none",
    { ...delta, reasoning_effort: "none" },
    "reasoning_effort",
    "chat.delta.reasoning-effort",
  ],
  [
    "delta: max_tokens above its limit",
    { ...delta, max_tokens: 131_073 },
    "max_tokens",
    "chat.delta.max-tokens",
  ],
  ["a model that the tables do not know", { model: "alpha-v5", messages }, "model", "model"],
  ["no model", { messages }, "model", "model"],
];

const warned: [string, object, string[]][] = [
  [
    "alpha: sampling while thinking",
    { ...alpha, temperature: 1, frequency_penalty: 0, presence_penalty: 0, top_p: 0.9 },
    ["temperature-ignored", "frequency-penalty-ignored", "presence-penalty-ignored", "top-p-raised"],
  ],
  [
    "alpha: sampling without thinking",
    { ...alpha, thinking: { type: "disabled" }, temperature: 1, top_p: 0.9 },
    [],
  ],
  ["alpha: sampling with effort none", { ...alpha, reasoning_effort: "none", temperature: 1 }, []],
  [
    "alpha: thinking and effort none",
    { ...alpha, thinking: { type: "enabled" }, reasoning_effort: "none" },
    ["thinking-contradicted"],
  ],
  [
    "alpha: JSON mode that nobody asked for",
    { ...alpha, response_format: { type: "json_object" } },
    ["json-not-asked"],
  ],
  [
    "alpha: JSON mode asked for",
    {
      ...alpha,
      messages: [{ role: "user", content: "as json please" }],
      response_format: { type: "json_object" },
    },
    [],
  ],
  ["delta: tools, which its list does not have", { ...delta, tools: [tool] }, ["tools-unlisted"]],
  ["delta: five stop sequences, by an assumed name", { ...delta, stop: Array(5).fill(".") }, ["stop"]],
  [
    "delta: sampling beyond 1, by assumed names",
    { ...delta, temperature: 1.1, top_p: -1 },
    ["temperature", "top-p"],
  ],
];

describe("the rules of the chat models (spec, POST /v1/chat/completions)", () => {
  test.each(accepted)("accept %s", (_, request) => {
    expect(checkRequest(request).issues).toEqual([]);
  });

  test.each(refused)("refuse %s", (_, request, path, rule) => {
    const { issues } = checkRequest(request);
    expect(issues.map((issue) => [issue.path, issue.rule])).toEqual([[path, rule]]);
    expect(issues[0]?.message).not.toMatch(/undefined|\[object|Invalid type/);
  });

  test.each(warned)("warn about %s", (_, request, names) => {
    const { issues, warnings } = checkRequest(request);
    expect(issues).toEqual([]);
    expect(warnings.map(({ rule }) => rule.split(".").at(-1))).toEqual(names);
  });

  test.each([null, undefined, 7, "x", []])("refuse %j, which is not a request", (request) => {
    expect(checkRequest(request).issues).toMatchObject([{ path: "model" }]);
  });
});

test("checks: false sends a request unchanged that the tables do not know", async () => {
  const { client, requests } = createTestClient(() =>
    streamResponse(frame({ content: "Hi" }, "stop") + DONE),
  );
  const request = { model: "alpha-v5", messages, depth: "deep" };
  expect((await streamChat(client, request, { checks: false }).result()).message.content).toBe("Hi");
  expect(await requests[0]?.json()).toEqual({ model: "alpha-v5", messages, depth: "deep", stream: true });
});
