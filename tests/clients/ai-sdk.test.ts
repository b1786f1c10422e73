import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateImage, generateText, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  chatModels,
  type Gateway,
  imageModels,
  openGateway,
  places,
  prompt,
  toolModels,
  toolPrompt,
} from "./gateway.ts";

const tools = {
  get_depth: tool({
    description: "The depth of a river in metres",
    inputSchema: z.object({ river: z.string() }),
    execute: async () => "7 metres",
  }),
};

describe.each(places)("the AI SDK, by way of the %s", (place) => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await openGateway(place);
  });
  afterAll(() => gateway.close());

  const compatible = (options: { includeUsage?: boolean } = {}) =>
    createOpenAICompatible({ name: "gateway", baseURL: gateway.baseURL, apiKey: gateway.apiKey, ...options });
  const providers = {
    "openai-compatible": (model: string) => compatible()(model),
    "openai-compatible with includeUsage": (model: string) => compatible({ includeUsage: true })(model),
    "openai.chat": (model: string) =>
      createOpenAI({ baseURL: gateway.baseURL, apiKey: gateway.apiKey }).chat(model),
  };

  describe.each(Object.entries(providers))("%s", (_, modelOf) => {
    test.each(chatModels)("%s answers whole, with usage", async (model) => {
      const { text, finishReason, usage } = await generateText({ model: modelOf(model), prompt });
      expect(text.length).toBeGreaterThan(20);
      expect(finishReason).toBe("stop");
      expect(usage.totalTokens).toBeGreaterThan(0);
    });

    test.each(chatModels)("%s streams", async (model) => {
      const { textStream, finishReason } = streamText({ model: modelOf(model), prompt });
      let text = "";
      for await (const piece of textStream) text += piece;
      expect(text.length).toBeGreaterThan(20);
      expect(await finishReason).toBe("stop");
    });

    test.each(toolModels)("%s calls a tool and answers with its result", async (model) => {
      const result = streamText({
        model: modelOf(model),
        prompt: toolPrompt,
        tools,
        stopWhen: stepCountIs(3),
      });
      expect(await result.text).toContain("7 metres");
      expect((await result.steps)[0]?.toolResults).toMatchObject([
        { toolName: "get_depth", output: "7 metres" },
      ]);
    });
  });

  test.each(chatModels)("%s tells its usage in a stream that asks for it", async (model) => {
    const stream = streamText({ model: compatible({ includeUsage: true })(model), prompt });
    await stream.consumeStream();
    expect((await stream.usage).totalTokens).toBeGreaterThan(0);
  });

  // the proxy refuses `response_format` where a model has none; the gateway ignores it there
  const jsonModels = place === "proxy" ? chatModels.slice(0, 1) : chatModels;
  test.each(jsonModels)(
    "%s answers with an object of a schema, without structured outputs",
    async (model) => {
      const provider = createOpenAICompatible({
        name: "gateway",
        baseURL: gateway.baseURL,
        apiKey: gateway.apiKey,
        supportsStructuredOutputs: false,
      });
      const schema = z.object({
        river: z.string().min(3),
        locks: z.int().max(7),
        banks: z.array(z.string()).length(2),
      });
      // the SDK leaves the schema out of the request: the instructions show it
      const system = `Answer with JSON that fits this JSON Schema: ${JSON.stringify(z.toJSONSchema(schema))}`;
      const output = Output.object({ schema });
      const result = await generateText({ model: provider(model), system, prompt, output });
      expect(result.output.banks).toHaveLength(2);
      expect(result.output.locks).toBeGreaterThanOrEqual(0);
    },
  );

  test.each(imageModels)("%s draws with the SDK's own defaults", async (model) => {
    const { image } = await generateImage({
      model: compatible().imageModel(model),
      prompt: "A lock on a canal",
    });
    expect(image.mediaType).toBe("image/png");
    expect(image.uint8Array.length).toBeGreaterThan(1000);
  });
});

describe("the AI SDK, by way of a proxy with adaptJSONSchema", () => {
  const schema = z.object({ river: z.string().min(3), banks: z.array(z.string()).length(2) });

  test.each(["openai-compatible", "openai.chat"])(
    "%s answers with an object of a schema by itself",
    async (name) => {
      const { baseURL, apiKey, close } = await openGateway("proxy", { adaptJSONSchema: true });
      const model =
        name === "openai.chat"
          ? createOpenAI({ baseURL, apiKey }).chat("alpha-v4.1-flash")
          : createOpenAICompatible({ name: "gateway", baseURL, apiKey, supportsStructuredOutputs: true })(
              "delta-5.3",
            );
      const { output } = await generateText({ model, prompt, output: Output.object({ schema }) });
      expect(output.banks).toHaveLength(2);
      await close();
    },
  );
});
