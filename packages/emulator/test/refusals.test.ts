import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createFastEmulator, createRequest, KEY, post, readRefusal, URL_OF_CHAT } from "./support.js";

const asJSON = { "content-type": "application/json" };

describe("a key", () => {
  test.each([
    ["is missing", {}],
    ["is unknown", { authorization: "Bearer sk-someone-else" }],
    ["comes without its scheme", { authorization: KEY }],
    ["is of another scheme", { authorization: `Basic ${KEY}` }],
    ["is empty", { authorization: "Bearer " }],
    ["has something after it", { authorization: `Bearer ${KEY} x` }],
  ])("a request that %s gets 401", async (_, headers) => {
    const response = await post(createFastEmulator(), createRequest("hi"), {
      headers: { ...asJSON, ...headers },
    });
    expect(response.status).toBe(401);
    const refusal = await readRefusal(response);
    expect(refusal).toEqual({
      message: expect.any(String),
      type: "authentication_error",
      code: "invalid_api_key",
    });
  });

  test.each([
    ["POST", "/v1/images/generations"],
    ["POST", "/v1/video/generations"],
    ["GET", "/v1/video/generations/task-1"],
    ["POST", "/gamma/asset/CreateAsset"],
    ["POST", "/gamma/asset/GetAsset"],
    ["POST", "/epsilon/v1/videos/text2video"],
    ["POST", "/epsilon/v1/videos/image2video"],
    ["POST", "/epsilon/v1/videos/multi-image2video"],
    ["GET", "/epsilon/v1/videos/epsilon-1"],
  ])("is needed for %s %s", async (method, path) => {
    const response = await createFastEmulator().fetch(`https://gateway.test${path}`, { method });
    expect(response.status).toBe(401);
    expect(await readRefusal(response)).toMatchObject({ type: "authentication_error" });
  });

  test("may be any of several", async () => {
    const emulator = createFastEmulator({ apiKeys: ["sk-other", KEY] });
    expect((await post(emulator, createRequest("hi"))).status).toBe(200);
  });
});

describe("a path", () => {
  test.each([
    "/v1/images/generation",
    "/v1/chat/completions/",
    "/v1/video/generations/",
    "/v1/video/generations/task/1",
    "/gamma/asset",
    "/files",
    "/constructor",
    "/v1",
  ])("%s is not found", async (path) => {
    const response = await createFastEmulator().fetch(`https://gateway.test${path}`, { method: "POST" });
    expect(response.status).toBe(404);
    expect(await readRefusal(response)).toMatchObject({ code: "not_found" });
  });

  test.each([
    ["GET", "/v1/chat/completions", "POST"],
    ["HEAD", "/v1/chat/completions", "POST"],
    ["GET", "/v1/images/generations", "POST"],
    ["PUT", "/v1/video/generations", "POST"],
    ["DELETE", "/v1/video/generations/task-1", "GET"],
    ["GET", "/gamma/asset/CreateAsset", "POST"],
    ["GET", "/gamma/asset/GetAsset", "POST"],
    ["GET", "/epsilon/v1/videos/text2video", "POST"],
    ["POST", "/epsilon/v1/videos/epsilon-1", "GET"],
    ["POST", "/files/a.png", "GET, HEAD"],
    ["DELETE", "/v1/chat/completions", "POST"],
    ["OPTIONS", "/v1/chat/completions", "POST"],
    ["POST", "/", "GET"],
    ["HEAD", "/", "GET"],
  ])("%s %s is not allowed, only %s", async (method, path, allowed) => {
    const response = await createFastEmulator().fetch(`https://gateway.test${path}`, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe(allowed);
  });

  test("/ describes the emulator without a key", async () => {
    const response = await createFastEmulator().fetch("https://gateway.test/");
    const page = await response.json();
    expect(page).toHaveProperty(["endpoints", "POST /v1/chat/completions", 2], "delta-5.3");
    expect(page).toHaveProperty(["faults", "chat", "[[drop]]"]);
    expect(page).toHaveProperty(["faults", "videos", "[[no-url]]"]);
  });

  test("/ and the docs of createEmulator list the same faults", async () => {
    const response = await createFastEmulator().fetch("https://gateway.test/");
    const { faults } = (await response.json()) as { faults: Record<string, Record<string, string>> };
    const source = await readFile(new URL("../src/emulator.ts", import.meta.url), "utf8");
    const rows = [...source.matchAll(/^ \* \| `(\[\[[\w-]+\]\])` +\| (.*?) *\|/gm)];
    for (const [endpoint, known] of Object.entries(faults)) {
      const listed = rows.filter(
        ([, , endpoints = ""]) => endpoints === "all" || endpoints.split(/, | and /).includes(endpoint),
      );
      expect(listed.map(([, fault]) => fault).toSorted(), endpoint).toEqual(Object.keys(known).toSorted());
    }
  });
});

describe("a path of a wrong base URL gets a hint with the right path", () => {
  const BASES =
    " An OpenAI client needs the base URL https://gateway.test/v1, a Sluice client https://gateway.test.";

  test.each([
    ["/chat/completions", "/v1/chat/completions", BASES],
    ["/v1/v1/chat/completions", "/v1/chat/completions", BASES],
    ["/api/v1/chat/completions", "/v1/chat/completions", BASES],
    ["//v1/chat/completions", "/v1/chat/completions", ""],
    ["/v1/chat/completions/", "/v1/chat/completions", ""],
    ["/v1//images/generations", "/v1/images/generations", ""],
    ["/images/generations", "/v1/images/generations", BASES],
    ["/video/generations", "/v1/video/generations", BASES],
    ["/video/generations/task-1", "/v1/video/generations/task-1", BASES],
    ["/v1/video/generations/task-1/", "/v1/video/generations/task-1", ""],
    ["/v1/gamma/asset/CreateAsset", "/gamma/asset/CreateAsset", BASES],
    ["/v1/epsilon/v1/videos/text2video", "/epsilon/v1/videos/text2video", BASES],
    ["/v1/epsilon/v1/videos/epsilon-1", "/epsilon/v1/videos/epsilon-1", BASES],
  ])("%s", async (path, meant, advice) => {
    const emulator = createFastEmulator();
    const response = await emulator.fetch(`https://gateway.test${path}`, { method: "POST" });
    expect(response.status).toBe(404);
    expect(await readRefusal(response)).toMatchObject({
      message: `There is no endpoint at ${path}. Did you mean ${meant}?${advice}`,
      code: "not_found",
    });
  });

  test.each(["/", "/v1", "/v2/chat", "/v1/files/file-1", "/v1/video/generations/task/1", "/journal/x"])(
    "%s has no right path",
    async (path) => {
      const response = await createFastEmulator().fetch(`https://gateway.test${path}`, { method: "POST" });
      expect((await readRefusal(response)).message).not.toContain("Did you mean");
    },
  );
});

describe("a body", () => {
  test.each([
    ["no JSON", "{model:", asJSON, "body"],
    ["nothing", "", asJSON, "body"],
    [
      "of another type",
      JSON.stringify(createRequest("hi")),
      { "content-type": "text/plain" },
      "content-type",
    ],
  ])("a request body of %s gets 400", async (_, body, headers, param) => {
    const response = await post(createFastEmulator(), body, {
      headers: { ...headers, authorization: `Bearer ${KEY}` },
    });
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toMatchObject({
      type: "invalid_request_error",
      code: "invalid_parameter",
      param,
    });
  });

  test("may name its charset", async () => {
    const headers = { "content-type": "application/json; charset=utf-8", authorization: `bearer ${KEY}` };
    expect((await post(createFastEmulator(), createRequest("hi"), { headers })).status).toBe(200);
  });

  test("A body for an unknown model is refused with its own code", async () => {
    const response = await post(createFastEmulator(), createRequest("hi", { model: "zeta-9" }));
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toMatchObject({ code: "model_not_found", param: "model" });
  });

  test.each([null, [], 7, "hi", {}])("The body %j lacks a model", async (body) => {
    const response = await post(createFastEmulator(), JSON.stringify(body));
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toMatchObject({ code: "invalid_parameter", param: "model" });
  });

  test("A body with several faults names them all, and the first as param", async () => {
    const response = await post(createFastEmulator(), createRequest("hi", { max_tokens: 0, temperature: 3 }));
    const { message, param } = await readRefusal(response);
    expect(param).toBe("max_tokens");
    expect(message).toContain("max_tokens");
    expect(message).toContain("temperature");
  });
});

describe("the rules of the models", () => {
  const gamma = { model: "gamma-chat-1-6-251015" };
  const delta = { model: "delta-5.3" };
  const createMessages = (...list: object[]) => ({ messages: list });
  const image = { type: "image_url", image_url: { url: "https://pictures.example/cat.png" } };
  const nameless = { type: "function", function: { parameters: {} } };
  test.each<[string, object]>([
    ["messages", createMessages()],
    ["messages.0.role", createMessages({ role: "robot", content: "hi" })],
    ["messages.0.content", createMessages({ role: "user" })],
    ["messages.0.content", createMessages({ role: "assistant", content: null })],
    ["messages.0.tool_call_id", createMessages({ role: "tool", content: "42" })],
    ["messages.0.content.0.type", createMessages({ role: "system", content: [image] })],
    ["messages.0.content.0.type", createMessages({ role: "user", content: [{ type: "audio" }] })],
    [
      "messages.0.content.0.image_url.url",
      createMessages({ role: "user", content: [{ ...image, image_url: { url: "cat" } }] }),
    ],
    [
      "messages.0.content.0.image_url.detail",
      createMessages({
        role: "user",
        content: [{ ...image, image_url: { ...image.image_url, detail: "fine" } }],
      }),
    ],
    ["thinking.type", { thinking: { type: "auto" } }],
    ["reasoning_effort", { reasoning_effort: "medium" }],
    ["max_tokens", { max_tokens: 393_217 }],
    ["max_tokens", { max_tokens: 1.5 }],
    ["response_format.type", { response_format: { type: "json_schema" } }],
    ["stop", { stop: Array.from({ length: 17 }, String) }],
    ["stream", { stream: "yes" }],
    ["stream_options.include_usage", { stream_options: { include_usage: 1 } }],
    ["temperature", { temperature: 2.1 }],
    ["top_p", { top_p: -0.1 }],
    ["frequency_penalty", { frequency_penalty: 3 }],
    ["presence_penalty", { presence_penalty: -3 }],
    ["tools.0.function.name", { tools: [nameless] }],
    ["tool_choice", { tool_choice: "always" }],
    ["tool_choice.function.name", { tool_choice: { type: "function", function: {} } }],
    ["user_id", { user_id: "a b" }],
    ["max_tokens", { ...gamma, max_tokens: 8193 }],
    ["stop", { ...gamma, stop: ["a"] }],
    ["messages.0.content.0.type", { ...gamma, ...createMessages({ role: "user", content: [image] }) }],
    ["max_tokens", { ...delta, max_tokens: 131_073 }],
    ["thinking.type", { ...delta, thinking: { type: "disabled" } }],
    ["reasoning_effort", { ...delta, reasoning_effort: "none" }],
  ])("refuse %s in %o", async (param, fields) => {
    const response = await post(createFastEmulator(), createRequest("hi", fields));
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toMatchObject({
      type: "invalid_request_error",
      code: "invalid_parameter",
      param,
    });
  });
});

test.each([{ stop: ["a", "b", "c", "d", "e"] }, { temperature: 1.5 }])(
  "a field that breaks only an assumption is accepted: %o",
  async (fields) => {
    const request = createRequest("hi", { model: "delta-5.3", ...fields });
    expect((await post(createFastEmulator(), request)).status).toBe(200);
  },
);

describe("other origins", () => {
  test("get nothing by default", async () => {
    const response = await post(createFastEmulator(), createRequest("hi"));
    expect(response.headers.has("access-control-allow-origin")).toBe(false);
  });

  test("may read all responses with the option cors, also errors", async () => {
    const emulator = createFastEmulator({ cors: true });
    const preflight = await emulator.fetch(URL_OF_CHAT, { method: "OPTIONS" });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-headers")).toContain("authorization");
    const refused = await post(emulator, createRequest("hi [[429]]"));
    expect(refused.headers.get("access-control-allow-origin")).toBe("*");
    expect(refused.headers.get("access-control-expose-headers")).toContain("retry-after");
  });
});

test("options that can't work are refused at once", () => {
  expect(() => createFastEmulator({ apiKeys: [] })).toThrow(/apiKeys/);
  expect(() => createFastEmulator({ speed: 0 })).toThrow(/speed/);
  expect(() => createFastEmulator({ speed: Number.NaN })).toThrow(/speed/);
});

test("The list of models and the responses endpoint, which other tools request first, are 404 with a hint", async () => {
  const { fetch } = createFastEmulator();
  const readHint = async (path: string) => {
    const response = await fetch(`https://gateway.test${path}`);
    expect(response.status).toBe(404);
    return (await readRefusal(response)).message;
  };
  expect(await readHint("/v1/models")).toMatch(/no list of models.* alpha-v4\.1-flash, .*gamma-video-fast\./);
  expect(await readHint("/v1/modelling")).toBe("There is no endpoint at /v1/modelling.");
  for (const path of ["/v1/responses", "/v1/completions"])
    expect(await readHint(path)).toMatch(/Ask by chat completions: POST \/v1\/chat\/completions\./);
});

describe("Fields for a response that the gateway never returns are refused with a hint", () => {
  const schema = { type: "object" };
  test.each([
    ["functions", "alpha-v4.1-flash", { functions: [{ name: "x" }] }, /use `tools`/],
    ["response_format", "delta-5.3", { response_format: { type: "json_schema" } }, /in the messages/],
    ["response_format", "gamma-chat-1-6-251015", { response_format: { schema } }, /in the messages/],
  ])("%s for %s", async (param, model, fields, fix) => {
    const response = await post(createFastEmulator(), { ...createRequest("hi"), model, ...fields });
    expect(response.status).toBe(400);
    expect(await readRefusal(response)).toMatchObject({ param, message: expect.stringMatching(fix) });
  });

  test("JSON mode is ignored for a model without it", async () => {
    const fields = { model: "delta-5.3", response_format: { type: "json_object" }, functions: null };
    expect((await post(createFastEmulator(), { ...createRequest("hi"), ...fields })).status).toBe(200);
  });
});
