import { InferenceClient } from "@huggingface/inference";
import type { ChatCall, Client } from "./client.ts";
import { riverJSONSchema, toMessages, toolSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

type Request = Parameters<InferenceClient["chatCompletion"]>[0];
type Thought = { readonly reasoning_content?: string };

testClient("Hugging Face", ({ baseURL, apiKey }): Client => {
  const inference = new InferenceClient(apiKey, { endpointUrl: baseURL });

  function toRequest(call: ChatCall, more: object = {}): Request {
    const { model, maxTokens, temperature, stop } = call;
    return {
      model,
      messages: toMessages(call),
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stop: [...stop] }),
      ...more,
    };
  }

  const create = (call: ChatCall, more?: object) =>
    inference.chatCompletion(toRequest(call, more), call.signal && { signal: call.signal });
  const readToolCall = async (completion: ReturnType<typeof create>) => {
    const [call] = (await completion).choices[0]?.message.tool_calls ?? [];
    return call && { name: call.function.name, input: JSON.parse(call.function.arguments) };
  };
  const readJSON = async (completion: ReturnType<typeof create>) =>
    JSON.parse((await completion).choices[0]?.message.content ?? "");

  return {
    async complete(call) {
      const { choices, usage } = await create(call);
      const message = choices[0]?.message;
      const thinking = (message as Thought | undefined)?.reasoning_content;
      return { text: message?.content ?? "", tokens: usage.total_tokens, thinking };
    },
    async stream(call) {
      let text = "";
      let tokens: number | undefined;
      const request = toRequest(call, { stream_options: { include_usage: true } });
      const options = call.signal && { signal: call.signal };
      for await (const { choices, usage } of inference.chatCompletionStream(request, options)) {
        tokens = usage?.total_tokens ?? tokens;
        const piece = choices[0]?.delta.content;
        if (!piece) continue;
        text += piece;
        call.onPiece?.(piece);
      }
      return { text, tokens };
    },
    callTool: (call, { name, description }) =>
      readToolCall(
        create(call, {
          tools: [{ type: "function", function: { name, description, parameters: toolSchema } }],
        }),
      ),
    bySchema: (call) =>
      readJSON(
        create(call, {
          response_format: { type: "json_schema", json_schema: { name: "river", schema: riverJSONSchema } },
        }),
      ),
    byTool: async (call) =>
      (
        await readToolCall(
          create(call, {
            tools: [{ type: "function", function: { name: "river", parameters: riverJSONSchema } }],
            tool_choice: "required",
          }),
        )
      )?.input,
    byJSON: (call) => readJSON(create(call, { response_format: { type: "json_object" } })),
  };
});
