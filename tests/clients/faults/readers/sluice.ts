import { type ChatResult, completeChat, createClient, streamChat } from "@sluice/core";
import { API_KEY, type FaultReader, LIMIT_MS, MODEL, messages } from "../reader.ts";
import { type Reading, readArguments } from "../reading.ts";

export function readBySluice(): FaultReader {
  const openClient = (baseURL: string) =>
    createClient({
      baseURL,
      apiKey: API_KEY,
      timeout: { firstChunkMs: LIMIT_MS, chunkMs: LIMIT_MS },
      onEvent: () => {},
    });
  const toReading = ({ message, toolCalls, outcome, usage }: ChatResult): Reading => {
    const calls = toolCalls.map(({ name, arguments: given }) => ({ name, arguments: readArguments(given) }));
    // the stores run the calls of no other response
    const mayRun = outcome === "tool-calls" && calls.every((call) => call.arguments !== undefined);
    return {
      text: message.content ?? "",
      reasoning: message.reasoning_content ?? "",
      toolCalls: mayRun ? calls : [],
      finish: outcome === "unconfirmed" ? undefined : outcome,
      totalTokens: usage?.total_tokens,
    };
  };
  const request = { model: MODEL, messages } as const;
  return {
    packages: ["@sluice/core"],
    stream: async (baseURL) => toReading(await streamChat(openClient(baseURL), request).result()),
    complete: async (baseURL) => toReading(await completeChat(openClient(baseURL), request)),
  };
}
