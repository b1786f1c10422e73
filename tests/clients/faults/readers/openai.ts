import OpenAI from "openai";
import { API_KEY, type FaultReader, LIMIT_MS, MODEL, messages } from "../reader.ts";
import { type Reading, readArguments } from "../reading.ts";

export function readByOpenAI(): FaultReader {
  const createOpenAI = (baseURL: string) =>
    new OpenAI({ baseURL: `${baseURL}/v1`, apiKey: API_KEY, timeout: LIMIT_MS }).chat.completions;
  const toReading = ({ choices, usage }: OpenAI.ChatCompletion): Reading => {
    const [choice] = choices;
    // an index that is skipped leaves a hole
    const calls = (choice?.message.tool_calls ?? []).filter(Boolean);
    return {
      text: choice?.message.content ?? "",
      toolCalls: calls.flatMap((call) =>
        call.type === "custom"
          ? []
          : [{ name: call.function.name, arguments: readArguments(call.function.arguments) }],
      ),
      finish: choice?.finish_reason,
      totalTokens: usage?.total_tokens,
    };
  };
  return {
    packages: ["openai"],
    stream: async (baseURL) =>
      toReading(await createOpenAI(baseURL).stream({ model: MODEL, messages }).finalChatCompletion()),
    complete: async (baseURL) => toReading(await createOpenAI(baseURL).create({ model: MODEL, messages })),
  };
}
