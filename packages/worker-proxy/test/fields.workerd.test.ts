import { adaptJSONSchema, adaptOpenAI } from "@sluice/worker-proxy";
import { describe, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";
import { SECRET } from "./support/sign.js";

expectLog("is not a field of this model", "no group of assets may be used");

type Options = Parameters<typeof openProxy>[0];
type Body = Record<string, unknown>;

const paths = {
  chat: "/v1/chat/completions",
  images: "/v1/images/generations",
  videos: "/v1/video/generations",
  assets: "/gamma/asset/CreateAsset",
};
const models = [
  "alpha-v4.1-flash",
  "gamma-chat-1-6-251015",
  "delta-5.3",
  "gamma-image-5-0-260128",
  "beta3.0-video",
  "gamma-video-2.0",
  "gamma-video-fast",
  "new-1",
];

/** Returns the part of a body that reaches the gateway and the fields that were left out, or the refusal. */
async function call(body: Body, path: string = paths.chat, options: Options = {}) {
  const opened = openProxy({
    routes: ["chat", "images", "videos"],
    secret: () => SECRET,
    models,
    ...options,
  });
  const { status, error, headers } = await opened.call(createRequest({ path, body }));
  expect(opened.reached).toHaveLength(status === 200 ? 1 : 0);
  if (status !== 200) return { status, code: error?.["code"], param: error?.["param"], error };
  return { status, sent: await opened.sent(), dropped: headers.get("x-sluice-dropped-fields") };
}
const messages = [{ role: "user", content: "hi" }];
const chat = (fields: Body, options?: Options) =>
  call({ model: "delta-5.3", messages, ...fields }, paths.chat, options);
const refusal = (param: string) => ({ status: 400, code: "field_not_allowed", param });

describe("a field outside the model's table does not reach the gateway (case 52)", () => {
  test.each([
    ["models", { models: ["gpt-dear"] }],
    ["fallbacks", { fallbacks: ["gpt-dear"] }],
    ["route", { route: "fallback" }],
    ["best_of", { best_of: 8 }],
    ["max_output_tokens", { max_output_tokens: 900_000 }],
    ["frames", { frames: 900 }],
    ["extra_body", { extra_body: { max_tokens: 900_000 } }],
    ["extra_body", { extra_body: { extra_body: { max_tokens: 900_000 } } }],
    ["extra", { extra: { parameters: { duration: 30 } } }],
    ["Messages", { Messages: [] }],
    ["max_tokens.value", { max_tokens: { value: 900_000 } }],
    ["messages.extra", { messages: [{ role: "user", content: "hi", extra: 1 }] }],
    ["messages.content.file", { messages: [{ role: "user", content: [{ type: "file", file: {} }] }] }],
    ["thinking.budget_tokens", { thinking: { type: "enabled", budget_tokens: 900_000 } }],
    ["tools.web_search", { tools: [{ type: "web_search", web_search: { enable: true } }] }],
    ["a\\nb", { "a\nb": 1 }],
  ])("%s in a chat", async (param, fields) => {
    expect(await chat(fields)).toMatchObject(refusal(param));
  });

  test.each([
    ["duration", "beta3.0-video", { duration: 30 }],
    ["input.parameters", "beta3.0-video", { input: { prompt: "a", parameters: { duration: 30 } } }],
    ["parameters", "gamma-video-2.0", { parameters: { duration: 30 } }],
    ["return_last_frame", "gamma-video-fast", { return_last_frame: true }],
    ["content.frames", "gamma-video-2.0", { content: [{ type: "text", text: "a", frames: 900 }] }],
  ])("%s in a video of %s %#", async (param, model, fields) => {
    expect(await call({ model, ...fields }, paths.videos)).toMatchObject(refusal(param));
  });

  test("n of an image", async () => {
    const body = { model: "gamma-image-5-0-260128", prompt: "a", n: 100 };
    expect(await call(body, paths.images)).toMatchObject(refusal("n"));
  });

  test("a model that the spec does not list has the fields of its route", async () => {
    const body = { model: "new-1", messages, thinking: { type: "enabled" }, stop: ["x"] };
    expect(await call(body)).toMatchObject({ status: 200, sent: body });
    expect(await call({ ...body, input: { prompt: "a" } })).toMatchObject(refusal("input"));
  });

  test("the refusal names the field and the option that adds it, and the operator's log has both", async () => {
    const { error } = await chat({ best_of: 8 });
    expect(error?.["message"]).toMatch(/"best_of".*allowFields/);
  });

  test("the refusal names what to do instead", async () => {
    expect((await chat({ seed: 7 })).error?.["message"]).toMatch(/allowFields.*adaptOpenAI\(\)/);
  });

  test.each([
    ["a text for an object", { thinking: "enabled" }, "thinking"],
    ["a text for the list of messages", { messages: "hi" }, "messages"],
    ["a list in a list", { messages: [[{ role: "user", content: "hi" }]] }, "messages"],
  ])("%s does not reach the gateway", async (_, fields, param) => {
    expect(await chat(fields)).toMatchObject({ status: 400, code: "invalid_request", param });
  });

  test("a user_id that the gateway would refuse is refused, though the proxy's own replaces it (case 88)", async () => {
    const model = "alpha-v4.1-flash";
    for (const user_id of ["", "é", "abc\n", "x".repeat(513), 7, null, ["a"]])
      expect(await chat({ model, user_id })).toMatchObject({
        status: 400,
        code: "invalid_request",
        param: "user_id",
      });
    expect(await chat({ model, user_id: "x".repeat(512) })).toMatchObject({ status: 200 });
    // other models have no such field: it is left out
    expect(await chat({ user_id: "é" })).toMatchObject({ status: 200 });
  });

  test("a field that is null is left out", async () => {
    const fields = { best_of: null, stop: null, messages: [{ role: "user", content: "hi", x: null }] };
    expect(await chat(fields)).toEqual({
      status: 200,
      sent: { model: "delta-5.3", messages, stop: null },
      dropped: null,
    });
  });

  test("The JSON Schema of a tool may hold any field", async () => {
    const parameters = {
      type: "object",
      properties: { url: { const: "http://10.0.0.1/" }, n: { n: [[1]] } },
    };
    const tools = [{ type: "function", function: { name: "f", parameters } }];
    expect(await chat({ tools })).toMatchObject({ status: 200, sent: { tools } });
    const bad = [
      { type: "function", function: { name: "f", parameters: JSON.parse('{"a":{"__proto__":1}}') } },
    ];
    expect(await chat({ tools: bad })).toMatchObject({ status: 400, code: "invalid_request" });
  });
});

describe("allowFields", () => {
  test("adds fields by name for all models, with all that is in them", async () => {
    const fields = { n: 2, extra_body: { top_k: 5, deep: [{ a: null }] } };
    const response = await chat(fields, { allowFields: ["n", "extra_body"] });
    expect(response).toMatchObject({ status: 200, sent: fields, dropped: null });
  });

  test("adds a nested field by its path, and no other of its parent", async () => {
    const options: Options = { allowFields: ["extra_body.top_k", "thinking.budget_tokens"] };
    const thinking = { type: "enabled", budget_tokens: 5 };
    expect(await chat({ thinking, extra_body: { top_k: 5 } }, options)).toMatchObject({ status: 200 });
    expect(await chat({ extra_body: { top_p: 5 } }, options)).toMatchObject(refusal("extra_body.top_p"));
  });

  test("keeps a field that `adaptOpenAI()` would drop", async () => {
    const plugins = [adaptOpenAI()];
    expect(await chat({ seed: 7 }, { allowFields: ["seed"], plugins })).toMatchObject({
      sent: { seed: 7 },
      dropped: null,
    });
  });

  test("does not open a way around the check of media and assets", async () => {
    const allowFields = ["extra"];
    for (const url of ["http://10.0.0.1/a", "ht\ntp://10.0.0.1", "//10.0.0.1/a", "file:///etc/passwd"])
      expect(await chat({ extra: [{ any: url }] }, { allowFields })).toMatchObject({
        status: 400,
        code: "media_not_allowed",
        param: "extra",
      });
    expect(await chat({ extra: "asset://a-1" }, { allowFields })).toMatchObject({
      status: 400,
      code: "media_not_allowed",
    });
    const texts = ["https://cdn.example/a.png", "Note: a // b", "data: none", "10:30", "asset: gold"];
    expect(await chat({ extra: texts }, { allowFields })).toMatchObject({ status: 200 });
  });

  test.each([[["a b"]], [["a."]], [[""]], [[5]], ["n"], [{ "delta-5.3": "n" }]])(
    "refuses %j when the proxy is created",
    (allowFields) => {
      expect(() => openProxy({ allowFields: allowFields as never })).toThrow(/^allowFields: /);
    },
  );

  test("is required where a cap names a field that the model does not have", () => {
    expect(() => openProxy({ models: { "delta-5.3": { n: 1 } } })).toThrow(
      /^models: delta-5\.3: n: .*allowFields/,
    );
    expect(() =>
      openProxy({ models: { "delta-5.3": { n: 1 } }, allowFields: ["n"], routes: ["chat"] }),
    ).not.toThrow();
    expect(() => openProxy({ models: { "delta-5.3": { seed: 1 } } })).toThrow(/allowFields/);
    const routes = ["chat", "videos"] as const;
    const unknown = { models: { "new-1": { "parameters.duration": 5 } } };
    expect(() => openProxy({ ...unknown, routes, secret: () => SECRET })).not.toThrow();
    expect(() => openProxy(unknown)).toThrow(/allowFields/);
  });
});

describe("with `adaptOpenAI()`, fields that OpenAI clients send are dropped, and named in the response", () => {
  const plugins = [adaptOpenAI()];
  const chat = (fields: Body, options?: Options) =>
    call({ model: "delta-5.3", messages, ...fields }, paths.chat, { ...options, plugins });
  const sendImageRequest = (body: Body) => call(body, paths.images, { plugins });

  test("fields of a chat and of its messages", async () => {
    const { status, sent, dropped } = await chat({
      messages: [
        ...messages,
        {
          role: "assistant",
          content: null,
          refusal: null,
          annotations: [],
          audio: null,
          index: 0,
          parsed: null,
          tool_calls: [
            {
              index: 0,
              id: "c",
              type: "function",
              function: { name: "f", arguments: "{}", parsed_arguments: {} },
            },
          ],
        },
        { role: "tool", tool_call_id: "c", content: "7" },
      ],
      user: "u",
      seed: 7,
      n: 1,
      stream: true,
      stream_options: { include_usage: true },
      parallel_tool_calls: false,
      store: false,
      metadata: { page: "rivers" },
      service_tier: "auto",
      logprobs: true,
      top_logprobs: 5,
    });
    expect(status).toBe(200);
    const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
    expect(sent).toEqual({
      model: "delta-5.3",
      messages: [
        ...messages,
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "c", content: "7" },
      ],
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(dropped?.split(", ").sort()).toEqual(
      [
        "logprobs",
        "messages.annotations",
        "messages.index",
        "messages.tool_calls.function.parsed_arguments",
        "messages.tool_calls.index",
        "metadata",
        "n",
        "parallel_tool_calls",
        "seed",
        "service_tier",
        "store",
        "top_logprobs",
        "user",
      ].sort(),
    );
  });

  test.each(["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"])(
    "the usage of a stream can be requested from %s (case 86)",
    async (model) => {
      const stream_options = { include_usage: true };
      const { sent, dropped } = await chat({ model, stream: true, stream_options });
      expect([sent?.["stream_options"], dropped]).toEqual([stream_options, null]);
    },
  );

  test("a list of one stop text becomes the text where a model takes no list (case 87)", async () => {
    const model = "gamma-chat-1-6-251015";
    expect((await chat({ model, stop: ["x"] })).sent?.["stop"]).toBe("x");
    // a longer one is the gateway's to refuse
    for (const stop of [["x", "y"], [], "x"])
      expect((await chat({ model, stop })).sent?.["stop"]).toEqual(stop);
    expect((await chat({ stop: ["x"] })).sent?.["stop"]).toEqual(["x"]);
  });

  test("n is dropped where it is 1 and refused where it would multiply (case 53)", async () => {
    expect(await chat({ n: 1 })).toMatchObject({ status: 200, dropped: "n" });
    for (const n of [2, "1", [1], 1.5]) expect(await chat({ n })).toMatchObject(refusal("n"));
  });

  test("fields of an image", async () => {
    const body = { model: "gamma-image-5-0-260128", prompt: "a" };
    const look = { quality: "hd", style: "vivid" };
    const more = { n: 1, response_format: "b64_json", user: "u", size: "2048x2048", ...look };
    const { sent, dropped } = await sendImageRequest({ ...body, ...more });
    expect(sent).toEqual({ ...body, size: "2048x2048" });
    expect(dropped?.split(", ").sort()).toEqual(["n", "quality", "response_format", "style", "user"]);
  });

  test("fields that the model has reach the gateway", async () => {
    const stream_options = { include_usage: true, include_obfuscation: false };
    const { sent, dropped } = await chat({ model: "alpha-v4.1-flash", stream: true, stream_options });
    expect([sent?.["stream_options"], dropped]).toEqual([
      { include_usage: true },
      "stream_options.include_obfuscation",
    ]);
    const image = { model: "gamma-image-5-0-260128", prompt: "a", seed: 7 };
    expect((await sendImageRequest(image)).sent).toEqual(image);
  });

  test("pages may read the header, which a response without any does not have", async () => {
    const { call } = openProxy();
    const { headers } = await call(createRequest({ headers: { origin: "https://app.example" } }));
    expect(headers.get("access-control-expose-headers")).toContain("x-sluice-dropped-fields");
    expect(headers.has("x-sluice-dropped-fields")).toBe(false);
  });

  test("max_completion_tokens becomes max_tokens, and is held to its cap", async () => {
    expect((await chat({ max_completion_tokens: 9 })).sent).toEqual({
      model: "delta-5.3",
      messages,
      max_tokens: 9,
    });
    const capped: Options = { models: { "delta-5.3": { max_tokens: 50 } } };
    expect(await chat({ max_completion_tokens: 51 }, capped)).toMatchObject({
      code: "limit_exceeded",
      param: "max_tokens",
    });
    expect((await chat({ max_completion_tokens: 9, max_tokens: 9 })).sent).toMatchObject({ max_tokens: 9 });
    expect((await chat({ max_completion_tokens: null, max_tokens: 9 })).sent).toMatchObject({
      max_tokens: 9,
    });
    expect(await chat({ max_completion_tokens: 9, max_tokens: 8 })).toMatchObject({
      status: 400,
      code: "invalid_request",
      param: "max_completion_tokens",
    });
  });

  test("a developer message reaches the gateway as a system message", async () => {
    const { sent } = await chat({ messages: [{ role: "developer", content: "x" }, ...messages] as never });
    expect(sent?.["messages"]).toEqual([{ role: "system", content: "x" }, ...messages]);
    // values that are not messages don't make the proxy fail
    for (const odd of [null, "developer", [null], [1]])
      expect((await chat({ messages: odd as never })).status).toBeLessThan(500);
  });

  test("a misspelt detail of an image is dropped", async () => {
    const image_url = { url: "https://cdn.example/a.png", details: "auto" };
    const content = [{ type: "image_url", image_url }];
    const { dropped } = await chat({ model: "alpha-v4.1-flash", messages: [{ role: "user", content }] });
    expect(dropped).toBe("messages.content.image_url.details");
  });

  test("max_completion_tokens is refused by its name where the model has no tokens to limit", async () => {
    const image = { model: "gamma-image-5-0-260128", prompt: "a", max_completion_tokens: 9 };
    expect(await sendImageRequest(image)).toMatchObject({ status: 400, param: "max_completion_tokens" });
  });
});

describe("a JSON Schema for the response", () => {
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const response_format = { type: "json_schema", json_schema: { name: "place", strict: true, schema } };
  const taken: Options = { plugins: [adaptJSONSchema()] };
  const instruction = {
    role: "system",
    content: `Answer with JSON only, without any other text. The JSON must fit this JSON Schema:\n${JSON.stringify(schema)}`,
  };

  test("is refused by default", async () => {
    expect(await chat({ model: "alpha-v4.1-flash", response_format })).toMatchObject(
      refusal("response_format.json_schema"),
    );
  });

  test("becomes an instruction, and `json_object` where the model has it", async () => {
    const flash = "alpha-v4.1-flash";
    expect(await chat({ model: flash, response_format }, taken)).toMatchObject({
      sent: { model: flash, messages: [instruction, ...messages], response_format: { type: "json_object" } },
      dropped: null,
    });
    const { sent } = await chat({ response_format, max_tokens: 9 }, taken);
    expect(sent).toEqual({ model: "delta-5.3", messages: [instruction, ...messages], max_tokens: 9 });
  });

  test("A schema beside `json_object` becomes an instruction, too", async () => {
    const beside = { response_format: { type: "json_object", schema } };
    expect(await chat({ model: "alpha-v4.1-flash", ...beside })).toMatchObject(
      refusal("response_format.schema"),
    );
    for (const model of ["alpha-v4.1-flash", "delta-5.3"])
      expect(await chat({ model, ...beside, max_tokens: 9 }, taken)).toMatchObject({
        sent: { model, messages: [instruction, ...messages] },
      });
  });

  test("JSON mode becomes an instruction for a model without it", async () => {
    const body = { model: "delta-5.3", response_format: { type: "json_object" }, max_tokens: 9 };
    expect(await chat(body)).toMatchObject(refusal("response_format"));
    const content = "Answer with JSON only, without any other text.";
    expect((await chat(body, taken)).sent).toEqual({
      model: "delta-5.3",
      messages: [{ role: "system", content }, ...messages],
      max_tokens: 9,
    });
  });

  test("a `response_format` without a schema is refused as without the plugin", async () => {
    for (const odd of [{ type: "json_schema" }, { type: "json_schema", json_schema: { schema: "x" } }])
      expect((await chat({ model: "alpha-v4.1-flash", response_format: odd }, taken)).status).toBe(
        (await chat({ model: "alpha-v4.1-flash", response_format: odd })).status,
      );
    const body = { model: "alpha-v4.1-flash", response_format: { type: "json_object" } };
    expect((await chat(body, taken)).sent).toEqual((await chat(body)).sent);
  });

  test("may contain the name of another model or an address", async () => {
    const json_schema = { schema: { models: ["dear-1"], url: "file:///etc/passwd", "x-asset": "asset://a" } };
    const { status, sent } = await chat({ response_format: { type: "json_schema", json_schema } }, taken);
    expect(status).toBe(200);
    expect(Object.keys(sent ?? {})).toEqual(["model", "messages"]);
  });
});

describe("an asset goes into a group that the operator lists (case 66)", () => {
  const asset = { model: "gamma-asset", Name: "n", AssetType: "Image", URL: "https://cdn.example/a.png" };
  const create = (GroupId: unknown, caps?: Record<string, string[]>) =>
    call({ ...asset, ...(GroupId !== undefined && { GroupId }) } as Body, paths.assets, {
      routes: ["assets"],
      models: caps ? { "gamma-asset": caps } : ["gamma-asset"],
    });

  test("any group is refused where none is listed", async () => {
    for (const group of ["group-1", undefined])
      expect(await create(group)).toMatchObject({ status: 403, param: "GroupId" });
  });

  test("a group that is not listed is refused, and a request without a group gets the first one", async () => {
    const caps = { GroupId: ["group-1", "group-2"] };
    expect(await create("group-3", caps)).toMatchObject({ status: 403, param: "GroupId" });
    expect(await create("group-2", caps)).toMatchObject({ status: 200, sent: { GroupId: "group-2" } });
    expect(await create(undefined, caps)).toMatchObject({ status: 200, sent: { GroupId: "group-1" } });
  });
});
