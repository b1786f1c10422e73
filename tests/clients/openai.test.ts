import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  chatModels,
  depthSchema,
  type Gateway,
  imageModels,
  openGateway,
  places,
  prompt,
  toolModels,
  toolPrompt,
} from "./gateway.ts";

const messages = [{ role: "user" as const, content: prompt }];
const tool = {
  type: "function" as const,
  function: { name: "get_depth", description: "The depth of a river in metres", parameters: depthSchema },
};

describe.each(places)("openai, by way of the %s", (place) => {
  let gateway: Gateway;
  let client: OpenAI;
  beforeAll(async () => {
    gateway = await openGateway(place);
    client = new OpenAI({ baseURL: gateway.baseURL, apiKey: gateway.apiKey });
  });
  afterAll(() => gateway.close());

  describe.each(chatModels)("%s", (model) => {
    test("answers whole, with usage", async () => {
      const { choices, usage } = await client.chat.completions.create({ model, messages });
      expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { role: "assistant" } });
      expect(choices[0]?.message.content?.length).toBeGreaterThan(20);
      expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    });

    test("streams the same answer, with the usage that stream_options ask for", async () => {
      let text = "";
      let tokens = 0;
      const request = { model, messages, stream: true as const, stream_options: { include_usage: true } };
      for await (const { choices, usage } of await client.chat.completions.create(request)) {
        text += choices[0]?.delta.content ?? "";
        tokens = usage?.total_tokens ?? tokens;
      }
      const whole = await client.chat.completions.create({ model, messages });
      expect(text).toBe(whole.choices[0]?.message.content);
      expect(tokens).toBe(whole.usage?.total_tokens);
    });

    test("is read by the .stream() helper to its final completion", async () => {
      const stream = client.chat.completions.stream({
        model,
        messages,
        stream_options: { include_usage: true },
      });
      const { choices, usage } = await stream.finalChatCompletion();
      expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { role: "assistant" } });
      expect(usage?.total_tokens).toBeGreaterThan(0);
    });

    test("takes the fields that OpenAI-style clients send everywhere", async () => {
      const asked = client.chat.completions.create({
        model,
        messages,
        n: 1,
        user: "u-1",
        seed: 7,
        parallel_tool_calls: false,
        max_completion_tokens: 500,
        store: false,
        metadata: { page: "rivers" },
      });
      const { data, response } = await asked.withResponse();
      expect(data.choices[0]?.finish_reason).toBe("stop");
      const fields = ["metadata", "n", "parallel_tool_calls", "seed", "store", "user"];
      const { unknownFields, body } = gateway.requests.at(-1) ?? {};
      if (place === "emulator") {
        expect(unknownFields).toEqual(expect.arrayContaining([...fields, "max_completion_tokens"]));
        return;
      }
      // the proxy leaves them out, and says so
      expect(response.headers.get("x-sluice-dropped")?.split(", ").sort()).toEqual(fields);
      expect(unknownFields).toEqual([]);
      expect(body).toEqual({ model, messages, max_tokens: 500 });
    });
  });

  describe.each(toolModels)("%s", (model) => {
    test("calls a tool and answers with its result, by hand", async () => {
      const asked = [{ role: "user" as const, content: toolPrompt }];
      const first = await client.chat.completions.create({
        model,
        messages: asked,
        tools: [tool],
        tool_choice: "required",
      });
      const message = first.choices[0]?.message;
      const call = message?.tool_calls?.[0];
      if (!message || call?.type !== "function") throw new Error("expected a call");
      expect(JSON.parse(call.function.arguments)).toEqual({ river: expect.any(String) });
      const result = { role: "tool" as const, tool_call_id: call.id, content: "7 metres" };
      const second = await client.chat.completions.create({
        model,
        messages: [...asked, message, result],
        tools: [tool],
      });
      expect(second.choices[0]?.message.content).toContain("7 metres");
    });

    test.each([false, true])("calls a tool in runTools, stream: %s", async (stream) => {
      const runnable = {
        ...tool,
        function: { ...tool.function, parse: JSON.parse, function: () => "7 metres" },
      };
      const request = {
        model,
        messages: [{ role: "user" as const, content: toolPrompt }],
        tools: [runnable],
      };
      const runner = stream
        ? client.chat.completions.runTools({ ...request, stream: true })
        : client.chat.completions.runTools(request);
      expect(await runner.finalContent()).toContain("7 metres");
    });
  });

  test.each(imageModels)("%s draws with the client's own defaults, and the image is there", async (model) => {
    const { data } = await client.images.generate({ model, prompt: "A lock on a canal" });
    const file = await fetch(data?.[0]?.url ?? "");
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "image/png"]);
    await file.body?.cancel();
  });

  test("a wrong key is an AuthenticationError", async () => {
    const wrong = new OpenAI({ baseURL: gateway.baseURL, apiKey: "sk-wrong" });
    await expect(wrong.chat.completions.create({ model: "delta-5.3", messages })).rejects.toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
  });

  test("gamma-chat-1-6-251015 takes a list of one stop text by way of the proxy alone", async () => {
    const asked = client.chat.completions.create({ model: "gamma-chat-1-6-251015", messages, stop: ["x"] });
    if (place === "proxy") expect((await asked).choices).toHaveLength(1);
    else await expect(asked).rejects.toMatchObject({ status: 400, message: /must be one text/ });
  });

  /* Values that the specification itself excludes, and where it says so. */
  test.each<[model: (typeof chatModels)[number], field: string, why: string, request: object]>([
    [
      "alpha-v4.1-flash",
      "messages.0.role",
      "roles are system, user, assistant, tool",
      { messages: [{ role: "developer", content: "x" }] },
    ],
    ["alpha-v4.1-flash", "reasoning_effort", "none, low, high, max", { reasoning_effort: "medium" }],
    ["alpha-v4.1-flash", "stop", "at most 16 entries", { stop: Array(17).fill("x") }],
    ["gamma-chat-1-6-251015", "stop", "one string", { stop: ["x", "y"] }],
    ["gamma-chat-1-6-251015", "max_tokens", "1 to 8192", { max_tokens: 8193 }],
    ["delta-5.3", "reasoning_effort", "low, high, max", { reasoning_effort: "none" }],
    ["delta-5.3", "stop", "at most 4 entries", { stop: Array(5).fill("x") }],
    ["delta-5.3", "max_tokens", "1 to 131072", { max_tokens: 131_073 }],
  ])("%s refuses %s: %s", async (model, param, _, request) => {
    await expect(client.chat.completions.create({ model, messages, ...request })).rejects.toMatchObject({
      status: 400,
      param,
    });
  });
});

describe("openai, by way of a proxy with adaptJSONSchema", () => {
  const schema = { ...depthSchema, properties: { river: { type: "string" as const, minLength: 3 } } };

  test.each(chatModels)("%s answers a request for a JSON Schema with JSON", async (model) => {
    const { baseURL, apiKey, requests, close } = await openGateway("proxy", { adaptJSONSchema: true });
    const { choices } = await new OpenAI({ baseURL, apiKey }).chat.completions.create({
      model,
      messages,
      response_format: { type: "json_schema", json_schema: { name: "depth", strict: true, schema } },
    });
    expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual({ river: expect.any(String) });
    expect(requests).toHaveLength(1);
    await close();
  });
});
