import { generateImage, generateObject, generateText, listModels, rawTool, streamText } from "xsai";
import type { Ask, Client, RiverTool } from "./client.ts";
import { messagesOf, riverJSONSchema, riverSchema, toolSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

testClient("xsAI", ({ baseURL, apiKey }): Client => {
  const address = { baseURL: `${baseURL}/`, apiKey };

  function requestOf(ask: Ask, tools: readonly RiverTool[] = []) {
    const { model, maxTokens, temperature, stop, signal } = ask;
    return {
      ...address,
      model,
      messages: messagesOf(ask) as Parameters<typeof generateText>[0]["messages"],
      // it passes on what it does not know, in the wire's own name
      ...(maxTokens !== undefined && { maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stop: [...stop] as [string] }),
      ...(signal && { abortSignal: signal }),
      ...(tools.length > 0 && { tools: tools.map(toolOf), maxSteps: 3 }),
    };
  }

  async function answer(ask: Ask, tools?: readonly RiverTool[]) {
    const { text, usage, reasoningText } = await generateText(requestOf(ask, tools));
    return { text: text ?? "", tokens: usage.total_tokens, thinking: reasoningText };
  }

  async function stream(ask: Ask, tools?: readonly RiverTool[]) {
    const { textStream, usage, steps, messages, totalUsage } = streamText({
      ...requestOf(ask, tools),
      streamOptions: { includeUsage: true },
    });
    // each of them fails with the stream
    for (const promise of [usage, steps, messages, totalUsage]) promise.catch(() => undefined);
    let text = "";
    for await (const piece of textStream) {
      text += piece;
      ask.onPiece?.(piece);
    }
    return { text, tokens: (await usage)?.total_tokens };
  }

  return {
    answer: (ask) => answer(ask),
    stream: (ask) => stream(ask),
    async callTool(ask, tool) {
      const { steps } = await generateText({ ...requestOf(ask, [tool]) });
      const [call] = steps[0]?.toolCalls ?? [];
      return call && { name: call.toolName, input: JSON.parse(call.args) };
    },
    runTools: answer,
    streamTools: stream,
    bySchema: async (ask) => (await generateObject({ ...requestOf(ask), schema: riverSchema })).object,
    async byTool(ask) {
      const tools = [
        rawTool({ name: "river", parameters: riverJSONSchema as never, execute: () => "noted" }),
      ];
      const { steps } = await generateText({ ...requestOf(ask), tools, toolChoice: "required", maxSteps: 2 });
      return JSON.parse(steps[0]?.toolCalls[0]?.args ?? "null");
    },
    async byJSON(ask) {
      const { text } = await generateText({ ...requestOf(ask), responseFormat: { type: "json_object" } });
      return JSON.parse(text ?? "");
    },
    async draw(model, prompt, n) {
      const { images } = await generateImage({ ...address, model, prompt, ...(n && { n }) });
      return images.map((image) => JSON.stringify(image));
    },
    listModels: () => listModels(address),
  };
});

function toolOf({ name, description, run }: RiverTool) {
  const execute = (input: unknown) => run((input as { river: string }).river);
  return rawTool({ name, description, parameters: toolSchema, execute });
}
