import { OpenAI } from "@llamaindex/openai";
import { API_KEY, type FaultReader, LIMIT_MS, MODEL, messages } from "../reader.ts";
import { readArguments } from "../reading.ts";

export function readByLlamaIndex(): FaultReader {
  const createClient = (baseURL: string) =>
    new OpenAI({
      apiKey: API_KEY,
      baseURL: `${baseURL}/v1`,
      model: MODEL,
      maxRetries: 2,
      timeout: LIMIT_MS,
    });
  type Options = { toolCall?: { name: string; input: unknown }[] } | undefined;
  const toCalls = (options: unknown) =>
    ((options as Options)?.toolCall ?? []).map(({ name, input }) => ({
      name,
      arguments: readArguments(input),
    }));
  const readRaw = (raw: unknown) => {
    const { choices, usage } = (raw ?? {}) as {
      choices?: { finish_reason?: string | null }[];
      usage?: { total_tokens?: number } | null;
    };
    return { finish: choices?.[0]?.finish_reason, totalTokens: usage?.total_tokens };
  };
  return {
    packages: ["@llamaindex/openai"],
    async stream(baseURL) {
      let text = "";
      let toolCalls: ReturnType<typeof toCalls> = [];
      let finish: string | null | undefined;
      let totalTokens: number | undefined;
      for await (const { delta, options, raw } of await createClient(baseURL).chat({
        messages,
        stream: true,
      })) {
        text += delta ?? "";
        const calls = toCalls(options);
        if (calls.length > 0) toolCalls = calls;
        const end = readRaw(raw);
        finish = end.finish ?? finish;
        totalTokens = end.totalTokens ?? totalTokens;
      }
      return { text, toolCalls, finish, totalTokens };
    },
    async complete(baseURL) {
      const { message, raw } = await createClient(baseURL).chat({ messages });
      return { text: String(message.content ?? ""), toolCalls: toCalls(message.options), ...readRaw(raw) };
    },
  };
}
