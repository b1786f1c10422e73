import { chat, maxIterations, type StreamChunk, toolDefinition } from "@tanstack/ai";
import { openaiCompatible } from "@tanstack/ai-openai/compatible";
import { z } from "zod";
import { API_KEY, type FaultReader, LIMIT_MS, MODEL, messages, toolNames } from "../reader.ts";
import type { Call } from "../reading.ts";

export function readByTanStack(): FaultReader {
  const request = (baseURL: string, ran: Call[]) => ({
    adapter: openaiCompatible({
      name: "gateway",
      models: [MODEL],
      baseURL: `${baseURL}/v1`,
      apiKey: API_KEY,
      timeout: LIMIT_MS,
    })(MODEL),
    messages,
    tools: toolNames.map((name) =>
      toolDefinition({ name, description: name, inputSchema: z.looseObject({}) }).server(async (input) => {
        ran.push({ name, arguments: input });
        return "done";
      }),
    ),
    agentLoopStrategy: maxIterations(1),
    debug: false as const,
  });
  return {
    packages: ["@tanstack/ai", "@tanstack/ai-openai"],
    // with `stream: false`, it collects a stream
    async stream(baseURL) {
      const toolCalls: Call[] = [];
      const reading = { text: "", reasoning: "", toolCalls, finish: undefined as string | null | undefined };
      for await (const chunk of chat(request(baseURL, toolCalls))) {
        if (chunk.type === "RUN_ERROR") throw new Error(chunk.message);
        if (chunk.type === "TEXT_MESSAGE_CONTENT") reading.text += chunk.delta;
        if (chunk.type === "REASONING_MESSAGE_CONTENT") reading.reasoning += chunk.delta;
        if (chunk.type === "RUN_FINISHED") reading.finish = readFinish(chunk);
      }
      return reading;
    },
  };
}

/** Returns the reason of the end, which the adapter puts into the metadata. */
function readFinish(chunk: Extract<StreamChunk, { type: "RUN_FINISHED" }>): string | null | undefined {
  const { tanstack } = (chunk.metadata ?? {}) as { readonly tanstack?: { readonly finishReason?: string } };
  return chunk.finishReason ?? tanstack?.finishReason;
}
