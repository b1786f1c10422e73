import { tool as llamaTool } from "@llamaindex/core/tools";
import { OpenAI, OpenAIAgent, OpenAIResponses } from "@llamaindex/openai";
import type { Access, ChatCall, Client, RiverTool } from "./client.ts";
import { riverSchema, toMessages, toolInput } from "./rivers.ts";
import { testClient } from "./test-client.ts";

testClient("LlamaIndex", (access): Client => {
  return {
    async complete(call) {
      const { message, raw } = await createLLM(access, call).chat({ messages: toLlamaMessages(call) });
      return { text: String(message.content), ...readRaw(raw) };
    },
    async stream(call) {
      let text = "";
      let tokens: number | undefined;
      const additionalChatOptions = { stream_options: { include_usage: true } };
      const options = { messages: toLlamaMessages(call), stream: true as const, additionalChatOptions };
      for await (const { delta, raw } of await createLLM(access, call).chat(options)) {
        tokens = readRaw(raw).tokens ?? tokens;
        if (!delta) continue;
        text += delta;
        call.onPiece?.(delta);
        if (call.signal?.aborted) break;
      }
      return { text, tokens };
    },
    async callTool(given, tool) {
      const { message } = await createLLM(access, given).chat({
        messages: toMessages(given),
        tools: [toTool(tool)],
      });
      const [call] = (message.options as { toolCall?: { name: string; input: string }[] }).toolCall ?? [];
      return call && { name: call.name, input: JSON.parse(call.input) };
    },
    async runTools(call, tools) {
      const agent = new OpenAIAgent({ llm: createLLM(access, call), tools: tools.map(toTool) });
      const { message } = await agent.chat({ message: call.turns[0]?.text ?? "" });
      return { text: String(message.content) };
    },
    async streamTools(call, tools) {
      const agent = new OpenAIAgent({ llm: createLLM(access, call), tools: tools.map(toTool) });
      let text = "";
      for await (const { delta } of await agent.chat({ message: call.turns[0]?.text ?? "", stream: true }))
        text += delta;
      return { text };
    },
    async bySchema(call) {
      const options = { messages: toLlamaMessages(call), responseFormat: riverSchema };
      return JSON.parse(String((await createLLM(access, call).chat(options)).message.content));
    },
    async byJSON(call) {
      const options = { messages: toLlamaMessages(call), responseFormat: { type: "json_object" } };
      return JSON.parse(String((await createLLM(access, call).chat(options)).message.content));
    },
    async respond(call) {
      const { apiKey, baseURL } = access;
      const llm = new OpenAIResponses({ apiKey, baseURL, model: call.model });
      return { text: String((await llm.chat({ messages: toLlamaMessages(call) })).message.content) };
    },
  };
});

function createLLM({ apiKey, baseURL }: Access, { model, maxTokens, temperature, stop }: ChatCall): OpenAI {
  return new OpenAI({
    apiKey,
    baseURL,
    model,
    maxRetries: 2,
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(stop && { additionalChatOptions: { stop: [...stop] } }),
  });
}

function toLlamaMessages(call: ChatCall) {
  return toMessages(call) as Parameters<OpenAI["chat"]>[0]["messages"];
}

function toTool({ name, description, run }: RiverTool) {
  return llamaTool({ name, description, parameters: toolInput, execute: ({ river }) => run(river) });
}

function readRaw(raw: unknown): { tokens: number | undefined; thinking: string | undefined } {
  const { usage, choices } = raw as {
    usage?: { total_tokens: number } | null;
    choices?: { message?: { reasoning_content?: string } }[];
  };
  return { tokens: usage?.total_tokens, thinking: choices?.[0]?.message?.reasoning_content };
}
