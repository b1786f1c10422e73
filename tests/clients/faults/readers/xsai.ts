import { generateText, rawTool, streamText } from "xsai";
import { API_KEY, type FaultReader, MODEL, messages, toolNames } from "../reader.ts";
import type { Call } from "../reading.ts";

export function readByXsAI(): FaultReader {
  const request = async (baseURL: string, ran: Call[]) => ({
    baseURL: `${baseURL}/v1/`,
    apiKey: API_KEY,
    model: MODEL,
    messages,
    tools: toolNames.map((name) =>
      rawTool({
        name,
        parameters: { type: "object", properties: {} },
        execute: (input) => {
          ran.push({ name, arguments: input });
          return "done";
        },
      }),
    ),
  });
  return {
    packages: ["xsai"],
    async stream(baseURL) {
      const toolCalls: Call[] = [];
      const result = streamText(await request(baseURL, toolCalls));
      // each of them fails with the stream
      for (const promise of [result.usage, result.steps, result.messages, result.totalUsage])
        promise.catch(() => undefined);
      for await (const event of result.fullStream) if (event.type === "error") throw event.error;
      const [step] = await result.steps;
      return {
        text: step?.text ?? "",
        toolCalls,
        finish: step?.finishReason,
        totalTokens: step?.usage?.total_tokens,
      };
    },
    async complete(baseURL) {
      const toolCalls: Call[] = [];
      const { text, finishReason, usage, reasoningText } = await generateText(
        await request(baseURL, toolCalls),
      );
      return {
        text: text ?? "",
        reasoning: reasoningText ?? "",
        toolCalls,
        finish: finishReason,
        totalTokens: usage?.total_tokens,
      };
    },
  };
}
