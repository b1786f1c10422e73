import { InferenceClient } from "@huggingface/inference";
import type { Ask, Client } from "./client.ts";
import { messagesOf, riverJSONSchema, toolSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

type Request = Parameters<InferenceClient["chatCompletion"]>[0];
type Thought = { readonly reasoning_content?: string };

testClient("Hugging Face", ({ baseURL, apiKey }): Client => {
  const inference = new InferenceClient(apiKey, { endpointUrl: baseURL });

  function requestOf(ask: Ask, more: object = {}): Request {
    const { model, maxTokens, temperature, stop } = ask;
    return {
      model,
      messages: messagesOf(ask),
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stop: [...stop] }),
      ...more,
    };
  }

  const create = (ask: Ask, more?: object) =>
    inference.chatCompletion(requestOf(ask, more), ask.signal && { signal: ask.signal });
  const callOf = async (asked: ReturnType<typeof create>) => {
    const [call] = (await asked).choices[0]?.message.tool_calls ?? [];
    return call && { name: call.function.name, input: JSON.parse(call.function.arguments) };
  };
  const jsonOf = async (asked: ReturnType<typeof create>) =>
    JSON.parse((await asked).choices[0]?.message.content ?? "");

  return {
    async answer(ask) {
      const { choices, usage } = await create(ask);
      const message = choices[0]?.message;
      const thinking = (message as Thought | undefined)?.reasoning_content;
      return { text: message?.content ?? "", tokens: usage.total_tokens, thinking };
    },
    async stream(ask) {
      let text = "";
      let tokens: number | undefined;
      const request = requestOf(ask, { stream_options: { include_usage: true } });
      const given = ask.signal && { signal: ask.signal };
      for await (const { choices, usage } of inference.chatCompletionStream(request, given)) {
        tokens = usage?.total_tokens ?? tokens;
        const piece = choices[0]?.delta.content;
        if (!piece) continue;
        text += piece;
        ask.onPiece?.(piece);
      }
      return { text, tokens };
    },
    callTool: (ask, { name, description }) =>
      callOf(
        create(ask, {
          tools: [{ type: "function", function: { name, description, parameters: toolSchema } }],
        }),
      ),
    bySchema: (ask) =>
      jsonOf(
        create(ask, {
          response_format: { type: "json_schema", json_schema: { name: "river", schema: riverJSONSchema } },
        }),
      ),
    byTool: async (ask) =>
      (
        await callOf(
          create(ask, {
            tools: [{ type: "function", function: { name: "river", parameters: riverJSONSchema } }],
            tool_choice: "required",
          }),
        )
      )?.input,
    byJSON: (ask) => jsonOf(create(ask, { response_format: { type: "json_object" } })),
  };
});
