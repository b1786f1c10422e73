import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { chatModels, type Gateway, openGateway, places, prompt, toolModels, toolPrompt } from "./gateway.ts";

// traces would go to their maker
setTracingDisabled(true);

const getDepth = tool({
  name: "get_depth",
  description: "The depth of a river in metres",
  parameters: z.object({ river: z.string() }),
  execute: async () => "7 metres",
});

describe.each(places)("the Agents SDK, by way of the %s", (place) => {
  let gateway: Gateway;
  let runner: Runner;
  beforeAll(async () => {
    gateway = await openGateway(place);
    const { apiKey, baseURL } = gateway;
    // the gateway has chat completions and no responses endpoint
    runner = new Runner({ modelProvider: new OpenAIProvider({ apiKey, baseURL, useResponses: false }) });
  });
  afterAll(() => gateway.close());
  const agent = (model: string, tools: [] | [typeof getDepth] = []) =>
    new Agent({ name: "Guide", instructions: "You know rivers.", model, tools });

  test.each(chatModels)("%s answers whole", async (model) => {
    const { finalOutput } = await runner.run(agent(model), prompt);
    expect(finalOutput?.length).toBeGreaterThan(20);
  });

  test.each(chatModels)("%s streams", async (model) => {
    const result = await runner.run(agent(model), prompt, { stream: true });
    let text = "";
    for await (const piece of result.toTextStream()) text += piece;
    await result.completed;
    expect(text.length).toBeGreaterThan(20);
    expect(result.finalOutput).toBe(text);
  });

  test.each(toolModels.flatMap((model) => [[model, false] as const, [model, true] as const]))(
    "%s calls a tool and answers with its result, stream: %s",
    async (model, stream) => {
      const guide = agent(model, [getDepth]);
      if (!stream) return expect((await runner.run(guide, toolPrompt)).finalOutput).toContain("7 metres");
      const result = await runner.run(guide, toolPrompt, { stream: true });
      await result.completed;
      expect(result.finalOutput).toContain("7 metres");
    },
  );
});
