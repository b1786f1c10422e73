import type { BaseMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import type { Client } from "./client.ts";
import { createChat, langChainMessages, toTools } from "./langchain-client.ts";
import { riverSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

testClient("LangChain", (access): Client => {
  return {
    async complete(call) {
      const { text, usage_metadata, additional_kwargs } = await createChat(access, call).invoke(
        langChainMessages(call),
      );
      return {
        text,
        tokens: usage_metadata?.total_tokens,
        thinking: additional_kwargs["reasoning_content"] as string | undefined,
      };
    },
    async stream(call) {
      let text = "";
      let tokens = 0;
      const stream = await createChat(access, call).stream(langChainMessages(call), { signal: call.signal });
      for await (const chunk of stream) {
        text += chunk.text;
        tokens += chunk.usage_metadata?.total_tokens ?? 0;
        if (chunk.text) call.onPiece?.(chunk.text);
      }
      return { text, tokens };
    },
    async callTool(given, tool) {
      const chat = createChat(access, given).bindTools(toTools([tool]));
      const [call] = (await chat.invoke(langChainMessages(given))).tool_calls ?? [];
      return call && { name: call.name, input: call.args };
    },
    async runTools(call, given) {
      const tools = toTools(given);
      const chat = createChat(access, call).bindTools(tools);
      const messages = langChainMessages(call);
      const reply = await chat.invoke(messages);
      const calls = reply.tool_calls ?? [];
      const results: BaseMessage[] = await Promise.all(
        calls.flatMap((call) =>
          tools
            .filter(({ name }) => name === call.name)
            .map((found) => found.invoke({ ...call, type: "tool_call" })),
        ),
      );
      return { text: (await chat.invoke([...messages, reply, ...results])).text };
    },
    bySchema: (call) =>
      createChat(access, call)
        .withStructuredOutput(riverSchema, { method: "jsonSchema", name: "river" })
        .invoke(langChainMessages(call)),
    byTool: (call) =>
      createChat(access, call)
        .withStructuredOutput(riverSchema, { method: "functionCalling", name: "river" })
        .invoke(langChainMessages(call)),
    byJSON: (call) =>
      createChat(access, call)
        .withStructuredOutput(riverSchema, { method: "jsonMode" })
        .invoke(langChainMessages(call)),
    async respond(call) {
      const { apiKey, baseURL } = access;
      const { model } = call;
      const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL }, useResponsesApi: true });
      return { text: (await chat.invoke(langChainMessages(call))).text };
    },
  };
});
