import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { describe, expect, test } from "vitest";
import { createFastEmulator, createRequest, KEY, post, readRefusal } from "./support.js";

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
])(
  "An `n` other than 1 and null is refused at %s, because one result for two would go unseen",
  async (path, body) => {
    for (const n of [2, 0, "1", [1], {}, true]) {
      const { response } = send({}, path, { ...body, n });
      const { status } = await response;
      const { param, message } = await readRefusal(await response);
      expect([n, status, param]).toEqual([n, 400, "n"]);
      expect(message).toContain("sequential_image_generation");
    }
    for (const n of [1, null]) expect((await send({}, path, { ...body, n }).response).status).toBe(200);
  },
);

test("The role `developer` of newer OpenAI clients is refused with the role to send", async () => {
  const messages = [{ role: "developer", content: "Be brief." }, ...createRequest("hi").messages];
  const response = await post(createFastEmulator(), { ...createRequest(""), messages });
  expect(response.status).toBe(400);
  expect((await readRefusal(response)).message).toMatch(
    /^messages\.0\.role .*; send `system` in place of `developer`$/,
  );
});

describe("the errors use the terms of HTTP, and name no library's functions", () => {
  test.each<[string, object]>([
    ["no model", { model: undefined }],
    ["a model of another type", { model: 7 }],
    ["an unknown model", { model: "delta-5-3" }],
    ["a broken rule", { max_tokens: 0 }],
    ["no messages", { messages: [] }],
  ])("%s", async (_, fields) => {
    const response = await post(createFastEmulator(), createRequest("hi", fields));
    expect(response.status).toBe(400);
    expect((await readRefusal(response)).message).not.toMatch(/\w\(|checks|client/i);
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

describe("keys that can't work are refused with a hint", () => {
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
