import { readFileSync } from "node:fs";
import type { Attributes } from "@opentelemetry/api";
import {
  type ChatRequest,
  completeChat,
  createVideoTask,
  defineTool,
  generateImages,
  getVideoTask,
  resumeChat,
  streamChat,
} from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { createChatStore } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { openTraced } from "./support.js";

/**
 * Names of the conventions for generative AI, v0.1.0: docs/gen-ai/client-inference.md, gen-ai-token-metrics.md and
 * gen-ai-spans.md of open-telemetry/semantic-conventions-genai. For a newer version, compare them with its documents and
 * change the version in the source, in README and in the guide.
 */
const VERSION = "0.1.0";
const metrics: Readonly<Record<string, string>> = {
  "gen_ai.client.inference.duration": "s",
  "gen_ai.client.inference.time_to_first_chunk": "s",
  "gen_ai.client.inference.usage.input_tokens": "{token}",
  "gen_ai.client.inference.usage.output_tokens": "{token}",
  "gen_ai.client.inference.usage.cache_read.input_tokens": "{token}",
  "gen_ai.client.inference.usage.reasoning.output_tokens": "{token}",
  "gen_ai.client.inference.operation.input_tokens": "{token}",
  "gen_ai.client.inference.operation.output_tokens": "{token}",
  "gen_ai.client.operation.duration": "s",
  "gen_ai.execute_tool.duration": "s",
};
const attributes = [
  "gen_ai.conversation.id",
  "gen_ai.operation.name",
  "gen_ai.output.type",
  "gen_ai.provider.name",
  "gen_ai.request.choice.count",
  "gen_ai.request.max_tokens",
  "gen_ai.request.model",
  "gen_ai.request.reasoning.level",
  "gen_ai.request.seed",
  "gen_ai.request.stop_sequences",
  "gen_ai.request.stream",
  "gen_ai.request.temperature",
  "gen_ai.request.top_p",
  "gen_ai.response.finish_reasons",
  "gen_ai.response.id",
  "gen_ai.response.model",
  "gen_ai.response.time_to_first_chunk",
  "gen_ai.tool.call.id",
  "gen_ai.tool.name",
  "gen_ai.tool.type",
  "gen_ai.usage.cache_read.input_tokens",
  "gen_ai.usage.input_tokens",
  "gen_ai.usage.output_tokens",
  "gen_ai.usage.reasoning.output_tokens",
];

const messages = [{ role: "user", content: "Hello" }] as const;
const settings: Partial<ChatRequest> = {
  temperature: 0.5,
  top_p: 0.9,
  max_tokens: 300,
  stop: ["END"],
  reasoning_effort: "high",
  response_format: { type: "json_object" },
};
const settingAttributes = {
  "gen_ai.request.temperature": 0.5,
  "gen_ai.request.top_p": 0.9,
  "gen_ai.request.max_tokens": 300,
  "gen_ai.request.stop_sequences": ["END"],
  "gen_ai.request.reasoning.level": "high",
  "gen_ai.output.type": "json",
};

/** One call of each kind, with every setting. */
async function callAll() {
  const script = {
    replies: [
      { prompt: "weather", toolCalls: [{ name: "weather", arguments: {} }], reasoning: "Let me look." },
      { tool: "weather", content: "Warm." },
    ],
  };
  const emulator = createEmulator({ speed: 1000, script });
  const fetch: typeof globalThis.fetch = async (...args) => {
    const request = new Request(...args);
    const response = await emulator.fetch(request);
    if (!request.url.endsWith("/chat/completions")) return response;
    // the emulator does not count the tokens of thinking
    const counts = '"completion_tokens_details":{"reasoning_tokens":3},"total_tokens":';
    const text = (await response.text()).replaceAll('"total_tokens":', counts);
    return new Response(text, response);
  };
  const opened = openTraced({ onEvent: () => {}, fetch }, {}, emulator);
  const { client } = opened;
  const weather = defineTool({ name: "weather", inputSchema: { type: "object" }, execute: () => "warm" });
  const chat = createChatStore(client, { model: "alpha-v4.1-flash", id: "trip", tools: [weather] });
  await chat.send("How is the weather?");
  await streamChat(client, { ...settings, model: "alpha-v4.1-flash", messages } as never).result();
  // fields that the gateway refuses
  const others = { model: "alpha-v4.1-flash", messages, seed: 7, n: 2 };
  await completeChat(client, others, { checks: false }).catch(() => {});
  await generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef", size: "2048x2048" });
  const task = await createVideoTask(client, { model: "beta3.0-video", input: { prompt: "A reef" } });
  await getVideoTask(client, task);
  return opened;
}

describe(`the conventions v${VERSION}`, () => {
  test("contain each name that spans and metrics use, and each name is used", async () => {
    const { spans, points } = await callAll();
    const all = await points();
    const listOurs = (names: Iterable<string>) =>
      [...new Set(names)].filter((name) => name.startsWith("gen_ai."));
    expect(listOurs(spans().flatMap((span) => Object.keys(span.attributes))).sort()).toEqual(attributes);
    expect(Object.fromEntries(all.map(({ name, unit }) => [name, unit]))).toEqual(metrics);
    const onMetrics = listOurs(all.flatMap((point) => Object.keys(point.attributes)));
    expect(onMetrics.filter((name) => !attributes.includes(name))).toEqual(["gen_ai.token.modality"]);
  });

  test("are named by the scope of spans, in README and in the reference", async () => {
    const { client, spans } = openTraced();
    await completeChat(client, { model: "alpha-v4.1-flash", messages });
    expect(spans()[0]?.scope).toMatchObject({
      name: "@sluice/otel",
      schemaUrl: `https://opentelemetry.io/schemas/gen-ai/${VERSION}`,
    });
    for (const page of ["../README.md", "../src/telemetry.ts"]) {
      const text = readFileSync(new URL(page, import.meta.url), "utf8");
      expect(text).toContain(`v${VERSION}`);
      if (page.includes("src"))
        for (const name of Object.keys(metrics)) expect(text).toContain(`\`${name}\``);
    }
  });
});

describe("a sampler", () => {
  test("sees the settings of a request before it is sent", async () => {
    const seen: Attributes[] = [];
    const sampler = {
      shouldSample(...[, , , , attributes]: [unknown, unknown, unknown, unknown, Attributes]) {
        seen.push(attributes);
        return { decision: 2 };
      },
      toString: () => "noting",
    };
    const { client } = openTraced({ onEvent: () => {} }, {}, undefined, sampler);
    await streamChat(client, { model: "alpha-v4.1-flash", messages, ...settings } as never).result();
    await completeChat(client, { model: "alpha-v4.1-flash", messages, stop: "END" });
    await generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef", size: "2048x2048" });
    expect(seen).toMatchObject([
      { ...settingAttributes, "gen_ai.request.stream": true },
      { "gen_ai.request.stop_sequences": ["END"] },
      { "gen_ai.output.type": "image" },
    ]);
    expect(seen[1]).not.toHaveProperty("gen_ai.request.stream");
    expect(seen[1]).not.toHaveProperty("gen_ai.output.type");
  });
});

describe("the span of a response without an end", () => {
  test.each(["[[drop]]", "[[truncate]]", "[[error-frame]]", "[[500]]", "[[429]]"])(
    "after %s has the finish reason error, and says that it was a stream",
    async (fault) => {
      const { client, spans } = openTraced({ retry: { limit: 0 } });
      const prompt = [{ role: "user", content: `Hello ${fault}` }] as const;
      await streamChat(client, { model: "alpha-v4.1-flash", messages: prompt })
        .result()
        .catch(() => {});
      expect(spans()).toMatchObject([
        {
          attributes: { "gen_ai.response.finish_reasons": ["error"], "gen_ai.request.stream": true },
        },
      ]);
    },
  );

  test("has a finish reason if it was stopped, and none if it was never sent", async () => {
    const { client, spans } = openTraced();
    const prompt = [{ role: "user", content: "Hello [[stall]]" }] as const;
    for await (const _ of streamChat(client, { model: "alpha-v4.1-flash", messages: prompt })) break;
    const refused = { model: "alpha-v4.1-flash", messages, max_tokens: 0 } as const;
    await completeChat(client, refused).catch(() => {});
    expect(spans().map((span) => span.attributes["gen_ai.response.finish_reasons"])).toEqual([
      ["error"],
      undefined,
    ]);
  });
});

test("A response stored by the proxy counts no tokens again", async () => {
  const emulator = createEmulator({ speed: Infinity });
  const { client, spans, points } = openTraced({
    fetch: async (request) => {
      const stored = new URL(request.url).pathname.startsWith("/v1/chat/streams/");
      if (!stored) return emulator.fetch(request);
      const body = JSON.stringify({
        model: "alpha-v4.1-flash",
        messages,
        stream: true,
        stream_options: { include_usage: true },
      });
      const headers = new Headers(request.headers);
      headers.set("content-type", "application/json");
      return emulator.fetch(
        new Request("https://gateway.test/v1/chat/completions", { method: "POST", headers, body }),
      );
    },
  });
  const { usage } = await resumeChat(client, "stream-1").result();
  expect(usage?.prompt_tokens).toBeGreaterThan(0);
  expect(spans()).toMatchObject([{ name: "fetch_response" }]);
  expect(spans()[0]?.attributes).not.toHaveProperty("gen_ai.usage.input_tokens");
  expect((await points()).map(({ name }) => name)).toEqual(["gen_ai.client.operation.duration"]);
});

test("A setting of a wrong type is on no span, since it may be any text", async () => {
  const { client, all } = openTraced({ onEvent: () => {} });
  const canary = "canary 41ab";
  const fields = {
    temperature: canary,
    max_tokens: { canary },
    reasoning_effort: canary,
    seed: [canary],
    n: canary,
  };
  const odd = {
    model: "alpha-v9",
    messages,
    ...fields,
    stop: { canary },
    response_format: { type: canary },
  };
  await completeChat(client, odd, { checks: false }).catch(() => {});
  expect(await all()).not.toContain(canary);
});
