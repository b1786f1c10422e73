import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";

/* The gateway calls itself compatible with OpenAI-style clients (spec, What the service does): here is one. */

const emulator = createEmulator({ apiKeys: ["sk-test"], speed: Number.POSITIVE_INFINITY });
let served: Awaited<ReturnType<typeof serve>>;
let client: OpenAI;

beforeAll(async () => {
  served = await serve(emulator, { port: 0 });
  client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "sk-test", maxRetries: 0 });
});
afterAll(() => served.close());

const messages = [{ role: "user" as const, content: "Tell me of rivers" }];
const tool = {
  type: "function" as const,
  function: {
    name: "get_depth",
    description: "The depth of a river in metres",
    parameters: { type: "object", properties: { river: { type: "string" } }, required: ["river"] },
  },
};

test("the openai client gets a whole answer with usage", async () => {
  const { choices, usage } = await client.chat.completions.create({
    model: "gamma-chat-1-6-251015",
    messages,
  });
  expect(choices[0]?.finish_reason).toBe("stop");
  expect(choices[0]?.message.content?.length).toBeGreaterThan(20);
  expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
});

test("the openai client streams the same answer", async () => {
  const request = { model: "alpha-v4.1-flash", messages, stream_options: { include_usage: true } };
  let text = "";
  let tokens = 0;
  for await (const { choices, usage } of await client.chat.completions.create({ ...request, stream: true })) {
    text += choices[0]?.delta.content ?? "";
    tokens = usage?.total_tokens ?? tokens;
  }
  const whole = await client.chat.completions.create({ model: request.model, messages });
  expect(text).toBe(whole.choices[0]?.message.content);
  expect(tokens).toBe(whole.usage?.total_tokens);
});

test("the openai client calls a tool and gets an answer to its result", async () => {
  const model = "alpha-v4.1-flash";
  const first = await client.chat.completions.create({
    model,
    messages,
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
    messages: [...messages, message, result],
    tools: [tool],
  });
  expect(second.choices[0]?.message.content).toContain("7 metres");
});

test("the openai client generates an image that is there", async () => {
  const { data } = await client.images.generate({
    model: "gamma-image-5-0-260128",
    prompt: "A lock on a canal",
    size: "2048x2048" as "1024x1024",
  });
  const file = await fetch(data?.[0]?.url ?? "");
  expect([file.status, file.headers.get("content-type")]).toEqual([200, "image/png"]);
});

test("the openai client understands the errors", async () => {
  const wrong = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "sk-wrong", maxRetries: 0 });
  await expect(wrong.chat.completions.create({ model: "delta-5.3", messages })).rejects.toMatchObject({
    status: 401,
    code: "invalid_api_key",
    type: "authentication_error",
  });
  await expect(
    client.chat.completions.create({ model: "delta-5.3", messages, max_tokens: 0 }),
  ).rejects.toMatchObject({
    status: 400,
    param: "max_tokens",
  });
});
