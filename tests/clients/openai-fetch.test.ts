import { OpenAIClient } from "openai-fetch";
import type { Ask, Client } from "./client.ts";
import { messagesOf, riverJSONSchema, toolSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

type Params = Parameters<OpenAIClient["createChatCompletion"]>[0];
type Thought = { readonly reasoning_content?: string | null };

testClient("openai-fetch", ({ baseURL, apiKey }): Client => {
  const openai = new OpenAIClient({ baseUrl: baseURL, apiKey });

  async function create(ask: Ask, more: object = {}, role?: "developer") {
    const { model, maxTokens, temperature, stop, signal } = ask;
    const request = {
      model,
      messages: messagesOf(ask, role),
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stop: [...stop] }),
      ...more,
    } as Params;
    return openai.createChatCompletion(request, signal && { signal });
  }

  async function answer(ask: Ask, role?: "developer") {
    const { choices, usage } = await create(ask, {}, role);
    const message = choices[0]?.message;
    const thinking = (message as Thought | undefined)?.reasoning_content ?? undefined;
    return { text: message?.content ?? "", tokens: usage?.total_tokens, thinking };
  }

  const jsonOf = async (asked: ReturnType<typeof create>) =>
    JSON.parse((await asked).choices[0]?.message.content ?? "");

  return {
    answer: (ask) => answer(ask),
    asDeveloper: (ask) => answer(ask, "developer"),
    async stream(ask) {
      const { onPiece, signal, model } = ask;
      const request = { model, messages: messagesOf(ask), stream_options: { include_usage: true } };
      const stream = await openai.streamChatCompletion(request as Params, signal && { signal });
      let text = "";
      let tokens: number | undefined;
      const reader = stream.getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        tokens = read.value.usage?.total_tokens ?? tokens;
        const piece = read.value.choices[0]?.delta.content;
        if (!piece) continue;
        text += piece;
        onPiece?.(piece);
      }
      return { text, tokens };
    },
    async callTool(ask, { name, description }) {
      const tools = [{ type: "function", function: { name, description, parameters: toolSchema } }];
      const [call] = (await create(ask, { tools })).choices[0]?.message.tool_calls ?? [];
      return call && { name: call.function.name, input: JSON.parse(call.function.arguments) };
    },
    bySchema: (ask) =>
      jsonOf(
        create(ask, {
          response_format: { type: "json_schema", json_schema: { name: "river", schema: riverJSONSchema } },
        }),
      ),
    async byTool(ask) {
      const tools = [{ type: "function", function: { name: "river", parameters: riverJSONSchema } }];
      const { choices } = await create(ask, { tools, tool_choice: "required" });
      return JSON.parse(choices[0]?.message.tool_calls?.[0]?.function.arguments ?? "null");
    },
    byJSON: (ask) => jsonOf(create(ask, { response_format: { type: "json_object" } })),
    async byFunctions(ask) {
      const functions = [{ name: "river", parameters: riverJSONSchema }];
      const { choices } = await create(ask, { functions, function_call: { name: "river" } });
      return JSON.parse(choices[0]?.message.function_call?.arguments ?? "null");
    },
    several: async (ask, n) => (await create(ask, { n })).choices,
  };
});
