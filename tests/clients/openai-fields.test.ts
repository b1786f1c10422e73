import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chatModels, type Gateway, openGateway } from "./gateway.ts";
import { prompt } from "./rivers.ts";

const messages = [{ role: "user" as const, content: prompt }];

describe.each(["emulator", "proxy"] as const)("The fields of openai, through the %s", (endpoint) => {
  let gateway: Gateway;
  let client: OpenAI;
  beforeAll(async () => {
    gateway = await openGateway(endpoint);
    client = new OpenAI({ baseURL: gateway.baseURL, apiKey: gateway.apiKey });
  });
  afterAll(() => gateway.close());

  test.each(chatModels)("are accepted in a chat with %s", async (model) => {
    const completion = client.chat.completions.create({
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
    const { data, response } = await completion.withResponse();
    expect(data.choices[0]?.finish_reason).toBe("stop");
    const fields = ["metadata", "n", "parallel_tool_calls", "seed", "store", "user"];
    const { unknownFields, body } = gateway.requests.at(-1) ?? {};
    if (endpoint === "emulator") {
      expect(unknownFields).toEqual(expect.arrayContaining([...fields, "max_completion_tokens"]));
      return;
    }
    // the proxy leaves them out, and says so
    expect(response.headers.get("x-sluice-dropped-fields")?.split(", ").sort()).toEqual(fields);
    expect(unknownFields).toEqual([]);
    expect(body).toEqual({ model, messages, max_tokens: 500 });
  });

  /* Values that the specification itself excludes, and where it says so. */
  test.each<[model: (typeof chatModels)[number], field: string, why: string, request: object]>([
    ["alpha-v4.1-flash", "reasoning_effort", "none, low, high, max", { reasoning_effort: "medium" }],
    ["alpha-v4.1-flash", "stop", "at most 16 entries", { stop: Array(17).fill("x") }],
    ["gamma-chat-1-6-251015", "stop", "one string", { stop: ["x", "y"] }],
    ["gamma-chat-1-6-251015", "max_tokens", "1 to 8192", { max_tokens: 8193 }],
    ["delta-5.3", "reasoning_effort", "low, high, max", { reasoning_effort: "none" }],
    ["delta-5.3", "max_tokens", "1 to 131072", { max_tokens: 131_073 }],
  ])("%s refuses %s: %s", async (model, param, _, request) => {
    await expect(client.chat.completions.create({ model, messages, ...request })).rejects.toMatchObject({
      status: 400,
      param,
    });
  });

  test("A limit whose field the specification does not name refuses nothing", async () => {
    const { choices } = await client.chat.completions.create({
      model: "delta-5.3",
      messages,
      stop: Array(5).fill("no such word"),
    });
    expect(choices[0]?.finish_reason).toBe("stop");
  });

  test("A wrong key is an AuthenticationError", async () => {
    const wrong = new OpenAI({ baseURL: gateway.baseURL, apiKey: "sk-wrong" });
    await expect(wrong.chat.completions.create({ model: "delta-5.3", messages })).rejects.toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
  });
});
