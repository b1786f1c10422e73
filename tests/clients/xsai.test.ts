import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateImage, generateText, rawTool, streamText } from "xsai";
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

const getDepth = rawTool({
  name: "get_depth",
  description: "The depth of a river in metres",
  parameters: depthSchema,
  execute: () => "7 metres",
});

describe.each(places)("xsAI, by way of the %s", (place) => {
  let gateway: Gateway;
  let address: { readonly baseURL: string; readonly apiKey: string };
  beforeAll(async () => {
    gateway = await openGateway(place);
    const { baseURL, apiKey } = gateway;
    address = { baseURL: `${baseURL}/`, apiKey };
  });
  afterAll(() => gateway.close());
  const messages = [{ role: "user" as const, content: prompt }];
  const asked = [{ role: "user" as const, content: toolPrompt }];

  test.each(chatModels)("%s answers whole, with usage", async (model) => {
    const { text, usage } = await generateText({ ...address, model, messages });
    expect(text?.length).toBeGreaterThan(20);
    expect(usage.total_tokens).toBeGreaterThan(0);
  });

  test.each(chatModels)("%s streams, with the usage that it asks for", async (model) => {
    const { textStream, usage } = streamText({
      ...address,
      model,
      messages,
      streamOptions: { includeUsage: true },
    });
    let text = "";
    for await (const piece of textStream) text += piece;
    expect(text.length).toBeGreaterThan(20);
    expect((await usage)?.total_tokens).toBeGreaterThan(0);
  });

  test.each(toolModels)("%s calls a tool and answers with its result", async (model) => {
    const { text } = await generateText({
      ...address,
      model,
      messages: asked,
      tools: [getDepth],
      maxSteps: 3,
    });
    expect(text).toContain("7 metres");
  });

  test.each(toolModels)("%s calls a tool and answers with its result in a stream", async (model) => {
    const { textStream, steps } = streamText({
      ...address,
      model,
      messages: asked,
      tools: [getDepth],
      maxSteps: 3,
    });
    let text = "";
    for await (const piece of textStream) text += piece;
    expect(text).toContain("7 metres");
    expect(await steps).toHaveLength(2);
  });

  test.each(imageModels)("%s draws; reading the file takes a browser's FileReader", async (model) => {
    const drawn = generateImage({ ...address, model, prompt: "A lock on a canal" });
    await expect(drawn).rejects.toThrow("Failed to parse response blob");
    expect(gateway.requests.findLast(({ path }) => path === "/v1/images/generations")?.status).toBe(200);
  });
});
