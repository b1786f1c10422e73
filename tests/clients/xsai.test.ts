import { generateImage, generateObject, generateText, listModels, rawTool, streamText } from "xsai";
import type { ChatCall, Client, RiverTool } from "./client.ts";
import { riverJSONSchema, riverSchema, toMessages, toolSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

testClient("xsAI", ({ baseURL, apiKey }): Client => {
  const address = { baseURL: `${baseURL}/`, apiKey };

  function toRequest(call: ChatCall, tools: readonly RiverTool[] = []) {
    const { model, maxTokens, temperature, stop, signal } = call;
    return {
      ...address,
      model,
      messages: toMessages(call) as Parameters<typeof generateText>[0]["messages"],
      // it sends unknown options under their own names
      ...(maxTokens !== undefined && { maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stop: [...stop] as [string] }),
      ...(signal && { abortSignal: signal }),
      ...(tools.length > 0 && { tools: tools.map(toTool), maxSteps: 3 }),
    };
  }

  async function complete(call: ChatCall, tools?: readonly RiverTool[]) {
    const { text, usage, reasoningText } = await generateText(toRequest(call, tools));
    return { text: text ?? "", tokens: usage.total_tokens, thinking: reasoningText };
  }

  async function stream(call: ChatCall, tools?: readonly RiverTool[]) {
    const { textStream, usage, steps, messages, totalUsage } = streamText({
      ...toRequest(call, tools),
      streamOptions: { includeUsage: true },
    });
    // each of them fails with the stream
    for (const promise of [usage, steps, messages, totalUsage]) promise.catch(() => undefined);
    let text = "";
    for await (const piece of textStream) {
      text += piece;
      call.onPiece?.(piece);
    }
    return { text, tokens: (await usage)?.total_tokens };
  }

  return {
    complete: (call) => complete(call),
    stream: (call) => stream(call),
    async callTool(given, tool) {
      const { steps } = await generateText({ ...toRequest(given, [tool]) });
      const [call] = steps[0]?.toolCalls ?? [];
      return call && { name: call.toolName, input: JSON.parse(call.args) };
    },
    runTools: complete,
    streamTools: stream,
    bySchema: async (call) => (await generateObject({ ...toRequest(call), schema: riverSchema })).object,
    async byTool(call) {
      const tools = [
        rawTool({ name: "river", parameters: riverJSONSchema as never, execute: () => "noted" }),
      ];
      const { steps } = await generateText({
        ...toRequest(call),
        tools,
        toolChoice: "required",
        maxSteps: 2,
      });
      return JSON.parse(steps[0]?.toolCalls[0]?.args ?? "null");
    },
    async byJSON(call) {
      const { text } = await generateText({ ...toRequest(call), responseFormat: { type: "json_object" } });
      return JSON.parse(text ?? "");
    },
    async draw(model, prompt, n) {
      const { images } = await generateImage({ ...address, model, prompt, ...(n && { n }) });
      return images.map((image) => JSON.stringify(image));
    },
    listModels: () => listModels(address),
  };
});

function toTool({ name, description, run }: RiverTool) {
  const execute = (input: unknown) => run((input as { river: string }).river);
  return rawTool({ name, description, parameters: toolSchema, execute });
}
