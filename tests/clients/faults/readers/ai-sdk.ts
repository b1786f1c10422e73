import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, streamText, tool } from "ai";
import { API_KEY, type FaultReader, LIMIT_MS, MODEL, PROMPT, TOTAL_MS, toolNames } from "../reader.ts";
import type { Call } from "../reading.ts";

export function readByAISDK(): FaultReader {
  const request = (baseURL: string, ran: Call[]) => ({
    model: createOpenAICompatible({ name: "gateway", baseURL: `${baseURL}/v1`, apiKey: API_KEY }).chatModel(
      MODEL,
    ),
    prompt: PROMPT,
    tools: Object.fromEntries(
      toolNames.map((name) => [
        name,
        tool({
          inputSchema: jsonSchema({ type: "object" }),
          execute: (input) => {
            ran.push({ name, arguments: input });
            return "done";
          },
        }),
      ]),
    ),
  });
  return {
    packages: ["ai", "@ai-sdk/openai-compatible"],
    async stream(baseURL) {
      const toolCalls: Call[] = [];
      const { fullStream } = streamText({
        ...request(baseURL, toolCalls),
        timeout: { firstChunkMs: LIMIT_MS, chunkMs: LIMIT_MS, totalMs: TOTAL_MS },
        // errors come as parts of the stream
        onError: () => undefined,
      });
      const reading = {
        text: "",
        reasoning: "",
        toolCalls,
        finish: "",
        totalTokens: undefined as number | undefined,
      };
      for await (const part of fullStream) {
        if (part.type === "error") throw part.error;
        if (part.type === "abort") throw new Error(`aborted: ${part.reason ?? ""}`);
        if (part.type === "text-delta") reading.text += part.text;
        if (part.type === "reasoning-delta") reading.reasoning += part.text;
        if (part.type !== "finish") continue;
        reading.finish = part.finishReason;
        reading.totalTokens = part.totalUsage.totalTokens;
      }
      return reading;
    },
    async complete(baseURL) {
      const toolCalls: Call[] = [];
      const result = await generateText({ ...request(baseURL, toolCalls), timeout: { totalMs: TOTAL_MS } });
      const { text, reasoningText = "", finishReason, usage } = result;
      return {
        text,
        reasoning: reasoningText,
        toolCalls,
        finish: finishReason,
        totalTokens: usage.totalTokens,
      };
    },
  };
}
