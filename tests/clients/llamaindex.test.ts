import { tool as llamaTool } from "@llamaindex/core/tools";
import { OpenAI, OpenAIAgent, OpenAIResponses } from "@llamaindex/openai";
import type { Access, Ask, Client, RiverTool } from "./client.ts";
import { messagesOf, riverSchema, toolInput } from "./rivers.ts";
import { testClient } from "./test-client.ts";

testClient("LlamaIndex", (access): Client => {
  return {
    async answer(ask) {
      const { message, raw } = await llmOf(access, ask).chat({ messages: saidIn(ask) });
      return { text: String(message.content), ...readRaw(raw) };
    },
    async stream(ask) {
      let text = "";
      let tokens: number | undefined;
      const additionalChatOptions = { stream_options: { include_usage: true } };
      const options = { messages: saidIn(ask), stream: true as const, additionalChatOptions };
      for await (const { delta, raw } of await llmOf(access, ask).chat(options)) {
        tokens = readRaw(raw).tokens ?? tokens;
        if (!delta) continue;
        text += delta;
        ask.onPiece?.(delta);
        if (ask.signal?.aborted) break;
      }
      return { text, tokens };
    },
    async callTool(ask, tool) {
      const { message } = await llmOf(access, ask).chat({ messages: saidIn(ask), tools: [toolOf(tool)] });
      const [call] = (message.options as { toolCall?: { name: string; input: string }[] }).toolCall ?? [];
      return call && { name: call.name, input: JSON.parse(call.input) };
    },
    async runTools(ask, tools) {
      const agent = new OpenAIAgent({ llm: llmOf(access, ask), tools: tools.map(toolOf) });
      const { message } = await agent.chat({ message: ask.turns[0]?.text ?? "" });
      return { text: String(message.content) };
    },
    async streamTools(ask, tools) {
      const agent = new OpenAIAgent({ llm: llmOf(access, ask), tools: tools.map(toolOf) });
      let text = "";
      for await (const { delta } of await agent.chat({ message: ask.turns[0]?.text ?? "", stream: true }))
        text += delta;
      return { text };
    },
    async bySchema(ask) {
      const options = { messages: saidIn(ask), responseFormat: riverSchema };
      return JSON.parse(String((await llmOf(access, ask).chat(options)).message.content));
    },
    async byJSON(ask) {
      const options = { messages: saidIn(ask), responseFormat: { type: "json_object" } };
      return JSON.parse(String((await llmOf(access, ask).chat(options)).message.content));
    },
    async respond(ask) {
      const { apiKey, baseURL } = access;
      const llm = new OpenAIResponses({ apiKey, baseURL, model: ask.model });
      return { text: String((await llm.chat({ messages: saidIn(ask) })).message.content) };
    },
  };
});

function llmOf({ apiKey, baseURL }: Access, { model, maxTokens, temperature, stop }: Ask): OpenAI {
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

function saidIn(ask: Ask) {
  return messagesOf(ask) as Parameters<OpenAI["chat"]>[0]["messages"];
}

function toolOf({ name, description, run }: RiverTool) {
  return llamaTool({ name, description, parameters: toolInput, execute: ({ river }) => run(river) });
}

function readRaw(raw: unknown): { tokens: number | undefined; thinking: string | undefined } {
  const { usage, choices } = raw as {
    usage?: { total_tokens: number } | null;
    choices?: { message?: { reasoning_content?: string } }[];
  };
  return { tokens: usage?.total_tokens, thinking: choices?.[0]?.message?.reasoning_content };
}
