import {
  type ChatRequest,
  type ClientEvent,
  completeChat,
  createClient,
  isGatewayError,
  streamChat,
  withJSONSchema,
} from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { type ChatStoreOptions, createChatStore } from "@sluice/stores";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { stoppedClock } from "../../packages/core/test/support/gateway.js";
import { createTestClock } from "../support/test-clock.ts";

/** Creates a gateway for one test, and a client with its key. */
function gateway(options: Partial<Parameters<typeof createClient>[0]> = {}) {
  const emulator = createEmulator({ apiKeys: ["sk-test"], speed: Number.POSITIVE_INFINITY });
  const client = createClient({
    baseURL: "https://gateway.test",
    fetch: emulator.fetch,
    apiKey: "sk-test",
    ...options,
  });
  return { emulator, client };
}

const sendMessage = (content: string, rest: object = {}) =>
  ({ model: "delta-5.3", messages: [{ role: "user", content }], ...rest }) as ChatRequest;

async function requestFailure(fault: string, options = {}) {
  const { client, emulator } = gateway(options);
  const stream = streamChat(client, sendMessage(`Tell me of rivers ${fault}`));
  return { ...(await readFailure(stream, fault)), emulator };
}

async function readFailure(stream: ReturnType<typeof streamChat>, fault: string) {
  const error = await stream.result().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isGatewayError(error)) throw new Error(`expected a gateway error for ${fault}, got ${error}`);
  return { error, text: stream.snapshot.content };
}

describe.each(["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"] as const)("%s", (model) => {
  const request = { model, messages: [{ role: "user", content: "Tell me of rivers" }] } as const;

  test("gives the same response streamed and whole, with usage that adds up", async () => {
    const streamed = { ...request, stream_options: { include_usage: true } };
    const warnings: unknown[] = [];
    const onEvent = (event: ClientEvent) => {
      if (event.type === "warning") warnings.push(event.issue.rule);
    };
    const whole = await completeChat(gateway().client, request);
    const stream = await streamChat(gateway({ onEvent }).client, streamed as ChatRequest).result();
    // a field that the spec lists for this model alone
    expect(warnings).toEqual(
      model === "alpha-v4.1-flash" ? [] : [expect.stringContaining("stream-options-unlisted")],
    );
    expect(stream.message).toEqual(whole.message);
    expect([whole.outcome, stream.outcome]).toEqual(["complete", "complete"]);
    for (const { usage } of [whole, stream]) {
      expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
      expect(usage?.completion_tokens).toBeGreaterThan(0);
    }
    expect(whole.message.reasoning_content !== undefined).toBe(model !== "gamma-chat-1-6-251015");
  });

  test("cuts its response at max_tokens with the outcome length", async () => {
    const turn = await streamChat(gateway().client, { ...request, max_tokens: 5 }).result();
    expect(turn).toMatchObject({ finishReason: "length", outcome: "length" });
  });
});

describe("a chat with a schema", () => {
  const recipe = v.object({
    title: v.pipe(v.string(), v.minLength(3)),
    minutes: v.pipe(v.number(), v.integer(), v.minValue(5)),
    steps: v.pipe(v.array(v.object({ text: v.string() })), v.minLength(2)),
  });

  test.each(["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"] as const)(
    "returns a value of that schema from %s, although the user does not describe it",
    async (model) => {
      const { client } = gateway();
      const options = { model, outputSchema: withJSONSchema(recipe), instructions: "You are a cook." };
      const chat = createChatStore(client, options as ChatStoreOptions);
      expect(await chat.send("A recipe for tea")).toMatchObject({ outcome: "complete" });
      expect(v.is(recipe, chat.getSnapshot().output)).toBe(true);
    },
  );
});

describe("faults have their own endings", () => {
  test.each([
    ["[[truncate]]", { name: "StreamError", reason: "truncated" }],
    ["[[drop]]", { name: "StreamError", reason: "truncated" }],
    ["[[malformed]]", { name: "StreamError", reason: "malformed" }],
    ["[[error-frame]]", { name: "StreamError", reason: "server-error" }],
    ["[[stall]]", { name: "TimeoutError", phase: "chunk" }],
  ])("%s: the response ends with the text so far", async (fault, expected) => {
    const clock = stoppedClock();
    const stream = streamChat(gateway({ clock }).client, sendMessage(`Tell me of rivers ${fault}`));
    const failing = readFailure(stream, fault);
    if (fault === "[[stall]]") {
      await expect.poll(() => stream.snapshot.content).not.toBe("");
      await clock.advanceUntil(failing, 10_000);
    }
    const { error, text } = await failing;
    expect(error).toMatchObject({ ...expected, partial: { content: text } });
    expect(text).not.toBe("");
  });

  test("[[429]] and [[500]]: refused after the retries", async () => {
    const quick = { retry: { limit: 1, maxRetryAfterMs: 1000 }, clock: createTestClock(50) };
    const { error, emulator } = await requestFailure("[[429]]", quick);
    expect(error).toMatchObject({ name: "APIError", status: 429, retryAfterMs: 1000 });
    expect(emulator.requests).toHaveLength(2);
    expect((await requestFailure("[[500]]", { retry: { limit: 0 } })).error).toMatchObject({ status: 500 });
  });

  test("[[429:1]]: the response comes at the second request", async () => {
    const { client, emulator } = gateway({ clock: createTestClock(50) });
    expect(await streamChat(client, sendMessage("Rivers [[429:1]]")).result()).toMatchObject({
      outcome: "complete",
    });
    expect(emulator.requests.map(({ status }) => status)).toEqual([429, 200]);
  });

  test("[[length]] and [[filter]]: a response with its outcome", async () => {
    const { client } = gateway();
    expect(await streamChat(client, sendMessage("Rivers [[length]]")).result()).toMatchObject({
      outcome: "length",
    });
    expect(await streamChat(client, sendMessage("Rivers [[filter]]")).result()).toMatchObject({
      outcome: "content-filter",
    });
  });
});

test("a wrong key is an authentication error that does not contain it", async () => {
  const { client } = gateway({ apiKey: "sk-wrong-0123456789" });
  const error = await completeChat(client, sendMessage("Hello")).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ status: 401, type: "authentication_error", code: "invalid_api_key" });
  expect(JSON.stringify(error)).not.toContain("0123456789");
});

test("leaving the loop ends the request at the gateway", async () => {
  const { client, emulator } = gateway();
  for await (const _ of streamChat(client, sendMessage("Rivers [[stall]]"))) break;
  await expect.poll(() => emulator.requests[0]?.aborted).toBe(true);
});

test("a tool is called with arguments that fit its schema, and its result gets a reply", async () => {
  const { client } = gateway();
  const tool = {
    type: "function",
    function: {
      name: "get_weather",
      parameters: {
        type: "object",
        properties: { city: { type: "string" }, unit: { enum: ["celsius", "fahrenheit"] } },
        required: ["city", "unit"],
      },
    },
  } as const;
  const request = {
    model: "alpha-v4.1-flash",
    messages: [{ role: "user", content: "What is the weather in Oslo?" }],
    tools: [tool],
    tool_choice: "required",
  } as const;
  const { toolCalls, message, outcome } = await streamChat(client, request).result();
  expect(outcome).toBe("tool-calls");
  expect(toolCalls[0]).toMatchObject({
    name: "get_weather",
    input: { city: expect.any(String), unit: expect.stringMatching(/^(celsius|fahrenheit)$/) },
  });
  const toolMessage = {
    role: "tool",
    tool_call_id: toolCalls[0]?.id ?? "",
    content: "12 °C and rain",
  } as const;
  const after = await streamChat(client, {
    model: "alpha-v4.1-flash",
    tools: [tool],
    messages: [...request.messages, message, toolMessage],
  }).result();
  expect(after.outcome).toBe("complete");
  expect(after.message.content).toContain("12 °C and rain");
});
