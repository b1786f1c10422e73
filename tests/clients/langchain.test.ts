import { HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { chatModels, type Gateway, openGateway, places, prompt, toolModels, toolPrompt } from "./gateway.ts";

const getDepth = tool(async () => "7 metres", {
  name: "get_depth",
  description: "The depth of a river in metres",
  schema: z.object({ river: z.string() }),
});

describe.each(places)("LangChain, by way of the %s", (place) => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await openGateway(place);
  });
  afterAll(() => gateway.close());
  const open = (model: string) =>
    new ChatOpenAI({ model, apiKey: gateway.apiKey, configuration: { baseURL: gateway.baseURL } });

  test.each(chatModels)("%s answers whole, with usage", async (model) => {
    const { text, usage_metadata } = await open(model).invoke(prompt);
    expect(text.length).toBeGreaterThan(20);
    expect(usage_metadata?.total_tokens).toBeGreaterThan(0);
  });

  test.each(chatModels)("%s streams, with usage", async (model) => {
    let text = "";
    let tokens = 0;
    for await (const chunk of await open(model).stream(prompt)) {
      text += chunk.text;
      tokens += chunk.usage_metadata?.total_tokens ?? 0;
    }
    expect(text.length).toBeGreaterThan(20);
    expect(tokens).toBeGreaterThan(0);
  });

  const river = z.object({ river: z.string().min(3), locks: z.int().max(7) });

  test.each(toolModels)("%s answers with an object of a schema by functionCalling", async (model) => {
    const chat = open(model).withStructuredOutput(river, { method: "functionCalling", name: "river" });
    expect(river.parse(await chat.invoke(prompt)).locks).toBeGreaterThanOrEqual(0);
  });

  test("alpha-v4.1-flash answers with an object of a schema by jsonMode and the prompt", async () => {
    const chat = open("alpha-v4.1-flash").withStructuredOutput(river, { method: "jsonMode" });
    const schema = JSON.stringify(z.toJSONSchema(river));
    expect(
      river.parse(await chat.invoke(`${prompt}. Answer with JSON of this schema: ${schema}`)).river,
    ).toBeTruthy();
  });

  test.each(toolModels)("%s calls a tool and answers with its result", async (model) => {
    const chat = open(model).bindTools([getDepth]);
    const asked = new HumanMessage(toolPrompt);
    const answer = await chat.invoke([asked]);
    const [call] = answer.tool_calls ?? [];
    if (!call) throw new Error("expected a call");
    const result: ToolMessage = await getDepth.invoke({ ...call, type: "tool_call" });
    expect((await chat.invoke([asked, answer, result])).text).toContain("7 metres");
  });
});

describe("LangChain, by way of a proxy with adaptJSONSchema", () => {
  const river = z.object({ river: z.string().min(3), locks: z.int().max(7) });

  test.each(chatModels)("%s answers with an object of a schema by jsonSchema", async (model) => {
    const { baseURL, apiKey, close } = await openGateway("proxy", { adaptJSONSchema: true });
    const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL } });
    const asked = chat.withStructuredOutput(river, { method: "jsonSchema", name: "river" });
    expect(river.parse(await asked.invoke(prompt)).river).toBeTruthy();
    await close();
  });
});
