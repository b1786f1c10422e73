import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { API_KEY, type FaultReader, LIMIT_MS, MODEL, PROMPT, TOTAL_MS } from "../reader.ts";
import type { Reading } from "../reading.ts";

/** The fields of a message, whole or streamed. */
interface Message {
  readonly text: string;
  readonly tool_calls?: readonly { readonly name: string; readonly args: unknown }[];
  readonly response_metadata: Readonly<Record<string, unknown>>;
  readonly usage_metadata?: { readonly total_tokens: number };
}

export function readByLangChain(): FaultReader {
  const createClient = (baseURL: string) =>
    new ChatOpenAI({
      model: MODEL,
      apiKey: API_KEY,
      configuration: { baseURL: `${baseURL}/v1` },
      timeout: LIMIT_MS,
      // 6 by default
      maxRetries: 2,
    });
  const toReading = ({ text, tool_calls = [], response_metadata, usage_metadata }: Message): Reading => ({
    text,
    toolCalls: tool_calls.map(({ name, args }) => ({ name, arguments: args })),
    finish: response_metadata["finish_reason"] as string | undefined,
    totalTokens: usage_metadata?.total_tokens,
  });
  return {
    packages: ["@langchain/openai", "@langchain/core"],
    async stream(baseURL) {
      let whole: AIMessageChunk | undefined;
      for await (const chunk of await createClient(baseURL).stream(PROMPT, { timeout: TOTAL_MS }))
        whole = whole ? whole.concat(chunk) : chunk;
      return whole ? toReading(whole) : { text: "", toolCalls: [] };
    },
    complete: async (baseURL) => toReading(await createClient(baseURL).invoke(PROMPT, { timeout: TOTAL_MS })),
  };
}
