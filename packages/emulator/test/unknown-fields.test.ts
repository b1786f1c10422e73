import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { describe, expect, test } from "vitest";
import { createFastEmulator, createRequest, KEY, post, readMessage, readRefusal } from "./support.js";

/*
 * The specification is incomplete: it says that the gateway has fields whose names it does not show. The emulator must
 * accept them.
 */

const HEADER = "x-sluice-unknown-fields";
const gamma = { model: "gamma-chat-1-6-251015" };
const tool = { type: "function", function: { name: "get_weather", parameters: { type: "object" } } };

function send(options: Partial<EmulatorOptions>, path: string, body: object) {
  const emulator = createFastEmulator(options);
  const response = emulator.fetch(`https://gateway.test${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { emulator, response };
}

test("unknown fields are accepted, listed in requests by their paths, and named in a header", async () => {
  const emulator = createFastEmulator({ cors: true });
  const fields = { n: 1, user: "u-1", messages: [{ role: "user", content: "hi", createdAt: 1 }] };
  const response = await post(emulator, createRequest("hi", fields));
  expect(response.status).toBe(200);
  expect(emulator.requests[0]?.unknownFields).toEqual(["messages.0.createdAt", "n", "user"]);
  expect(response.headers.get(HEADER)).toBe("messages.0.createdAt, n, user");
  expect(response.headers.get("access-control-expose-headers")).toContain(HEADER);
});

test("no header names unknown fields if there are none", async () => {
  const emulator = createFastEmulator();
  const response = await post(emulator, createRequest("hi"));
  expect(emulator.requests[0]?.unknownFields).toEqual([]);
  expect(response.headers.has(HEADER)).toBe(false);
});

test("the header carries the names of unknown fields, however they are spelled", async () => {
  const response = await post(
    createFastEmulator(),
    createRequest("hi", { "größe\r\n🚤": 1, ["x".repeat(9999)]: 1 }),
  );
  expect(response.status).toBe(200);
  expect(response.headers.get(HEADER)).toMatch(/^gr\?\?e\?\?\?\?, x+$/);
});

test.each([
  [
    "/v1/images/generations",
    { model: "gamma-image-5-0-260128", prompt: "A fox", n: 1, response_format: "b64_json" },
  ],
  ["/v1/video/generations", { model: "beta3.0-video", input: { prompt: "A fox" }, fps: 24 }],
  [
    "/gamma/asset/CreateAsset",
    {
      model: "gamma-asset",
      GroupId: "g",
      Name: "n",
      AssetType: "Image",
      URL: "https://a.test/b.png",
      Tags: [],
    },
  ],
])("unknown fields are accepted at %s and change nothing", async (path, body) => {
  const { emulator, response } = send({}, path, body);
  expect((await response).status).toBe(200);
  expect(emulator.requests[0]?.unknownFields.length).toBeGreaterThan(0);
});

test("unknown fields that look like tools call no tool", async () => {
  for (const tools of [[tool], "all", 7]) {
    const response = await post(
      createFastEmulator(),
      createRequest("Use get_weather", { ...gamma, tools, tool_choice: "required" }),
    );
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      choices: [{ message: { tool_calls: null }, finish_reason: "stop" }],
    });
  }
});

test.each([
  ["/v1/chat/completions", createRequest("hi")],
  ["/v1/images/generations", { model: "gamma-image-5-0-260128", prompt: "A fox" }],
  ["/v1/video/generations", { model: "beta3.0-video", input: { prompt: "A fox" } }],
])("An n above 1 is refused at %s, because one result for two would go unseen", async (path, body) => {
  for (const n of [2, 0, "1", [1], {}, true]) {
    const { response } = send({}, path, { ...body, n });
    const { status } = await response;
    const { param, message } = await readRefusal(await response);
    expect([n, status, param]).toEqual([n, 400, "n"]);
    expect(message).toContain("sequential_image_generation");
  }
  for (const n of [1, null]) expect((await send({}, path, { ...body, n }).response).status).toBe(200);
});

describe("strict mode", () => {
  test("refuses an unknown field and names the probable field", async () => {
    const emulator = createFastEmulator({ strict: true });
    const response = await post(emulator, createRequest("hi", { maxTokens: 5, n: 1 }));
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toEqual({
      message:
        "maxTokens is not a known field of this model; did you mean `max_tokens`?; n is not a known field of this model",
      type: "invalid_request_error",
      code: "invalid_parameter",
      param: "maxTokens",
    });
    expect(emulator.requests[0]?.unknownFields).toEqual(["maxTokens", "n"]);
  });
});

describe("strict mode refuses what the specification refuses, and the default accepts it", () => {
  const system = { role: "system", content: "Be brief." };
  const call = (id: string, name: string) => ({ id, type: "function", function: { name, arguments: "{}" } });
  const createToolTurn = (called: object, tool_call_id = "c1") => ({
    messages: [
      ...createRequest("Use get_weather").messages,
      { role: "assistant", content: "", tool_calls: [called] },
      { role: "tool", tool_call_id, content: "rain" },
    ],
  });
  const createImageMessage = (url: string) => [
    { role: "user", content: [{ type: "image_url", image_url: { url } }] },
  ];
  const json = { response_format: { type: "json_object" } };
  const image = { model: "gamma-image-5-0-260128", prompt: "A fox" };
  const video = { model: "gamma-video-2.0", content: [{ type: "text", text: "A fox" }] };

  const origin = "http://127.0.0.1:8788";
  const createFrame = (url: string) => ({
    model: "beta3.0-video",
    input: { prompt: "A fox", media: [{ type: "first_frame", url }] },
  });

  test.each<[string, string, string, object]>([
    [
      "JSON mode without a word of JSON",
      "chat/completions",
      "messages",
      createRequest("A list of teas", json),
    ],
    [
      "JSON mode with the word in a picture alone",
      "chat/completions",
      "messages",
      { ...createRequest("", json), messages: createImageMessage("https://a.test/json.png") },
    ],
    [
      "a tool call without a name",
      "chat/completions",
      "messages.1.tool_calls.0.function.name",
      { ...createRequest(""), ...createToolTurn(call("c1", "")) },
    ],
    [
      "a tool call without an id",
      "chat/completions",
      "messages.1.tool_calls.0.id",
      { ...createRequest(""), ...createToolTurn(call("", "get_weather")) },
    ],
    [
      "the result of no tool call",
      "chat/completions",
      "messages.2.tool_call_id",
      { ...createRequest(""), ...createToolTurn(call("c1", "get_weather"), "c2") },
    ],
    [
      "an image that only this machine has",
      "chat/completions",
      "messages.0.content",
      { ...createRequest(""), messages: createImageMessage("http://localhost:3000/a.png") },
    ],
    [
      "tools for a model whose fields have none",
      "chat/completions",
      "tools",
      createRequest("hi", { model: "delta-5.3", tools: [tool] }),
    ],
    [
      "options of a stream for a model whose fields have none",
      "chat/completions",
      "stream_options",
      createRequest("hi", { ...gamma, stream: true, stream_options: { include_usage: true } }),
    ],
    ["an empty list of references", "images/generations", "image", { ...image, image: [] }],
    [
      "a reference that only a local network has",
      "images/generations",
      "image.0",
      { ...image, image: ["http://192.168.1.7/a.png"] },
    ],
    [
      "a frame of this machine",
      "video/generations",
      "input.media.0.url",
      createFrame("http://127.0.0.1/a.png"),
    ],
    ["a seed for a model that lists none", "video/generations", "seed", { ...video, seed: 7 }],
  ])("%s", async (_, path, param, body) => {
    const strict = send({ strict: true }, `/v1/${path}`, body).response;
    expect((await strict).status).toBe(400);
    expect(await readRefusal(await strict)).toMatchObject({ param });
    expect((await send({}, `/v1/${path}`, body).response).status).toBe(200);
  });

  test("thinking that does not come back unchanged beside its tool calls", async () => {
    const emulator = createFastEmulator({ strict: true });
    const first = { ...createRequest("Use get_weather"), tools: [tool] };
    const answer = await readMessage(emulator, first);
    const [{ id = "" } = {}] = answer.tool_calls ?? [];
    const createNext = (reasoning_content: string | null) => ({
      ...first,
      messages: [
        ...first.messages,
        { ...answer, reasoning_content },
        { role: "tool", tool_call_id: id, content: "rain" },
      ],
    });
    expect((await post(emulator, createNext(answer.reasoning_content))).status).toBe(200);
    for (const other of [null, "", `${answer.reasoning_content} `]) {
      const response = await post(emulator, createNext(other));
      expect(response.status).toBe(400);
      expect(await readRefusal(response)).toMatchObject({ param: "messages.1.reasoning_content" });
    }
  });

  test.each<[string, string, object]>([
    ["JSON mode with a word of JSON", "chat/completions", createRequest("Teas as JSON, please", json)],
    [
      "JSON mode with instructions",
      "chat/completions",
      {
        ...createRequest("", json),
        messages: [{ ...system, content: "Answer in json" }, ...createRequest("Teas").messages],
      },
    ],
    [
      "a whole tool turn",
      "chat/completions",
      { ...createRequest(""), ...createToolTurn(call("c1", "get_weather")) },
    ],
    ["ignored parameters", "chat/completions", createRequest("hi", { temperature: 1 })],
    ["its own files as references", "images/generations", { ...image, image: [`${origin}/files/a.png`] }],
    ["a public reference", "images/generations", { ...image, image: ["https://a.test/a.png"] }],
  ])("accepts %s", async (_, path, body) => {
    expect((await send({ strict: true, origin }, `/v1/${path}`, body).response).status).toBe(200);
  });
});

test("The role `developer` of newer OpenAI clients is refused with the role to send", async () => {
  const messages = [{ role: "developer", content: "Be brief." }, ...createRequest("hi").messages];
  const response = await post(createFastEmulator(), { ...createRequest(""), messages });
  expect(response.status).toBe(400);
  expect((await readRefusal(response)).message).toMatch(
    /^messages\.0\.role .*; send `system` in place of `developer`$/,
  );
});

describe("the errors speak of HTTP, and of no library's functions", () => {
  test.each<[string, object]>([
    ["no model", { model: undefined }],
    ["a model of another type", { model: 7 }],
    ["an unknown model", { model: "delta-5-3" }],
    ["a broken rule", { max_tokens: 0 }],
    ["no messages", { messages: [] }],
  ])("%s", async (_, fields) => {
    for (const strict of [false, true]) {
      const response = await post(createFastEmulator({ strict }), createRequest("hi", fields));
      expect(response.status).toBe(400);
      expect((await readRefusal(response)).message).not.toMatch(/\w\(|checks|client/i);
    }
  });

  test("a misspelled model is refused with the name of the probable model", async () => {
    expect(
      await readRefusal(await post(createFastEmulator(), createRequest("hi", { model: "delta-5-3" }))),
    ).toMatchObject({
      message: expect.stringMatching(/^model must be one of .*; did you mean `delta-5.3`\?$/),
      code: "model_not_found",
    });
  });
});

describe("keys that can't work are refused with a way out", () => {
  test.each<[string, unknown]>([
    ["an empty list", { apiKeys: [] }],
    ["one key outside a list", { apiKeys: "sk-test" }],
    ["an empty key", { apiKeys: [""] }],
    ["a key with a space", { apiKeys: ["sk test"] }],
    ["an unset variable", { apiKeys: [undefined] }],
  ])("%s", (_, options) => {
    expect(() => createEmulator(options as EmulatorOptions)).toThrow(
      expect.objectContaining({
        name: "TypeError",
        message: expect.stringMatching(/^apiKeys .*createEmulator\(\{ apiKeys: \["sk-test"\] \}\)/),
      }),
    );
  });
});
