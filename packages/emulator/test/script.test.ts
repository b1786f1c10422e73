import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { describe, expect, test } from "vitest";
import {
  complete,
  createFastEmulator,
  createRequest,
  post,
  readMessage,
  readRefusal,
  send,
} from "./support.js";

type Script = NonNullable<EmulatorOptions["script"]>;
const createScripted = (...replies: Script["replies"]) => createFastEmulator({ script: { replies } });

describe("a response of a script", () => {
  test("is the reply to requests whose prompt has its words, in any case", async () => {
    const emulator = createScripted({
      prompt: "weather",
      content: "It rains.",
      reasoning: "A look outside.",
    });
    expect(await readMessage(emulator, createRequest("How is the Weather?"))).toMatchObject({
      content: "It rains.",
      reasoning_content: "A look outside.",
    });
    expect((await readMessage(emulator, createRequest("How are you?"))).content).not.toBe("It rains.");
  });

  test("can be for one model", async () => {
    const emulator = createScripted({ model: "delta-5.3", content: "From delta." });
    expect((await readMessage(emulator, createRequest("hi", { model: "delta-5.3" }))).content).toBe(
      "From delta.",
    );
    expect((await readMessage(emulator, createRequest("hi"))).content).not.toBe("From delta.");
  });

  test("is the first matching rule, until it has handled as many requests as `times`", async () => {
    const emulator = createScripted({ content: "first", times: 1 }, { content: "then" });
    const contents = [
      await readMessage(emulator, createRequest("hi")),
      await readMessage(emulator, createRequest("hi")),
    ];
    expect(contents.map(({ content }) => content)).toEqual(["first", "then"]);
    emulator.reset();
    expect((await readMessage(emulator, createRequest("hi"))).content).toBe("first");
  });

  test("calls a tool, and replies to its result by another rule", async () => {
    const emulator = createScripted(
      { prompt: "weather", toolCalls: [{ name: "get_weather", arguments: { city: "Paris" } }] },
      { tool: "get_weather", content: "It rains in Paris." },
    );
    const question = { role: "user", content: "The weather?" };
    const first = await readMessage(emulator, { ...createRequest("x"), messages: [question] });
    expect(first.tool_calls).toMatchObject([
      { function: { name: "get_weather", arguments: '{"city":"Paris"}' } },
    ]);
    const result = { role: "tool", tool_call_id: first.tool_calls?.[0]?.id, content: "rain" };
    const second = await readMessage(emulator, {
      ...createRequest("x"),
      messages: [question, first, result],
    });
    expect(second.content).toBe("It rains in Paris.");
  });

  test("gives way to a reply of the function `chat`", async () => {
    const emulator = createFastEmulator({
      script: { replies: [{ content: "of the script" }] },
      chat: ({ messages }) => (messages.length > 1 ? "of the function" : undefined),
    });
    expect((await readMessage(emulator, createRequest("hi"))).content).toBe("of the script");
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "hi" },
    ];
    expect((await readMessage(emulator, { ...createRequest("hi"), messages })).content).toBe(
      "of the function",
    );
  });
});

describe("faults of a script", () => {
  test("fail a chat, beside the faults of its prompt", async () => {
    const emulator = createScripted({ prompt: "castle", faults: ["429:1"] });
    expect((await post(emulator, createRequest("A castle"))).status).toBe(429);
    expect((await post(emulator, createRequest("A castle"))).status).toBe(200);
    expect(emulator.requests[0]).toMatchObject({ faults: ["429"], status: 429, error: /Rate limit/ });
  });

  test.each([
    ["/v1/images/generations", { model: "gamma-image-4-0-250828", prompt: "A castle" }],
    ["/v1/video/generations", { model: "beta3.0-video", input: { prompt: "A castle" } }],
    [
      "/v1/video/generations",
      { model: "gamma-video-1-5-pro-251215", content: [{ type: "text", text: "A castle" }] },
    ],
    [
      "/gamma/asset/CreateAsset",
      { model: "gamma-asset", GroupId: "g", Name: "Castle", AssetType: "Image", URL: "https://a.test/b.png" },
    ],
    ["/epsilon/v1/videos/text2video", { prompt: "A castle" }],
  ])("reach %s", async (path, body) => {
    const emulator = createScripted({ prompt: "castle", faults: ["500"] });
    expect((await send(emulator, path, body)).status).toBe(500);
  });
});

describe("a script that is wrong", () => {
  test.each([
    [{ replies: [{ prompt: 3 }] }, "replies.0.prompt must be a string"],
    [{ replies: [{}, { contnet: "x" }] }, "replies.1.contnet is not a field of a reply; there are model,"],
    [{ replies: [{ faults: ["slow", "dorp"] }] }, "replies.0.faults.1 is not a fault: dorp; there are"],
    [{ replies: [{ model: "gpt-4o" }] }, "replies.0.model must be one of"],
    [{ replies: [{ times: 0 }] }, "replies.0.times must be 1 or more"],
    [{ replies: [{ toolCalls: [{ args: {} }] }] }, "replies.0.toolCalls.0.args is not a field of a call"],
    [{ replies: ["hi"] }, "replies.0 must be a reply"],
    [{ answer: [] }, "answer is not a field of a script"],
    [[], "must be a script"],
  ])("%j is refused, and its path is named", (script, message) => {
    expect(() => createEmulator({ script: script as unknown as Script })).toThrow(message);
  });
});

test("Every key is accepted without options, and none is needed", async () => {
  const emulator = createEmulator({ speed: Infinity });
  expect((await emulator.fetch("https://gateway.test/v1/video/generations/none")).status).toBe(404);
  expect((await complete(emulator, createRequest("hi"))).object).toBe("chat.completion");
});

test("an unknown model is refused, and the record has the reason", async () => {
  const emulator = createFastEmulator();
  const { message } = await readRefusal(await post(emulator, createRequest("hi", { model: "delta-5" })));
  expect(emulator.requests[0]).toMatchObject({ error: message, status: 400, finished: true });
});
