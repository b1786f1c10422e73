import { InferenceClient } from "@huggingface/inference";
import { API_KEY, type FaultReader, MODEL, messages } from "../reader.ts";
import { readArguments } from "../reading.ts";

export function readByHuggingFace(): FaultReader {
  const createClient = (baseURL: string) => new InferenceClient(API_KEY, { endpointUrl: `${baseURL}/v1` });
  return {
    packages: ["@huggingface/inference"],
    lacksStreamedCalls: true,
    async stream(baseURL) {
      let text = "";
      let finish: string | undefined;
      let totalTokens: number | undefined;
      for await (const { choices, usage } of createClient(baseURL).chatCompletionStream({
        model: MODEL,
        messages,
      })) {
        // code that reads raw chunks handles a chunk without a choice
        text += choices?.[0]?.delta?.content ?? "";
        finish = choices?.[0]?.finish_reason ?? finish;
        totalTokens = usage?.total_tokens ?? totalTokens;
      }
      return { text, finish, totalTokens };
    },
    async complete(baseURL) {
      const { choices, usage } = await createClient(baseURL).chatCompletion({ model: MODEL, messages });
      const message = choices[0]?.message;
      return {
        text: message?.content ?? "",
        toolCalls: (message?.tool_calls ?? []).map(({ function: { name, arguments: given } }) => ({
          name,
          arguments: readArguments(given),
        })),
        finish: choices[0]?.finish_reason,
        totalTokens: usage?.total_tokens,
      };
    },
  };
}
