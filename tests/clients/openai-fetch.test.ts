import { OpenAIClient } from "openai-fetch";
import type { ChatCall, Client } from "./client.ts";
import { riverJSONSchema, toMessages, toolSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

type Params = Parameters<OpenAIClient["createChatCompletion"]>[0];
type Thought = { readonly reasoning_content?: string | null };

testClient("openai-fetch", ({ baseURL, apiKey }): Client => {
  const openai = new OpenAIClient({ baseUrl: baseURL, apiKey });

  async function create(call: ChatCall, more: object = {}, role?: "developer") {
    const { model, maxTokens, temperature, stop, signal } = call;
    const request = {
      model,
      messages: toMessages(call, role),
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stop: [...stop] }),
      ...more,
    } as Params;
    return openai.createChatCompletion(request, signal && { signal });
  }

  async function complete(call: ChatCall, role?: "developer") {
    const { choices, usage } = await create(call, {}, role);
    const message = choices[0]?.message;
    const thinking = (message as Thought | undefined)?.reasoning_content ?? undefined;
    return { text: message?.content ?? "", tokens: usage?.total_tokens, thinking };
  }

  const readJSON = async (completion: ReturnType<typeof create>) =>
    JSON.parse((await completion).choices[0]?.message.content ?? "");

  return {
    complete: (call) => complete(call),
    asDeveloper: (call) => complete(call, "developer"),
    async stream(call) {
      const { onPiece, signal, model } = call;
      const request = { model, messages: toMessages(call), stream_options: { include_usage: true } };
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
    async callTool(given, { name, description }) {
      const tools = [{ type: "function", function: { name, description, parameters: toolSchema } }];
      const [call] = (await create(given, { tools })).choices[0]?.message.tool_calls ?? [];
      return call && { name: call.function.name, input: JSON.parse(call.function.arguments) };
    },
    bySchema: (call) =>
      readJSON(
        create(call, {
          response_format: { type: "json_schema", json_schema: { name: "river", schema: riverJSONSchema } },
        }),
      ),
    async byTool(call) {
      const tools = [{ type: "function", function: { name: "river", parameters: riverJSONSchema } }];
      const { choices } = await create(call, { tools, tool_choice: "required" });
      return JSON.parse(choices[0]?.message.tool_calls?.[0]?.function.arguments ?? "null");
    },
    byJSON: (call) => readJSON(create(call, { response_format: { type: "json_object" } })),
    async byFunctions(call) {
      const functions = [{ name: "river", parameters: riverJSONSchema }];
      const { choices } = await create(call, { functions, function_call: { name: "river" } });
      return JSON.parse(choices[0]?.message.function_call?.arguments ?? "null");
    },
    several: async (call, n) => (await create(call, { n })).choices,
  };
});
