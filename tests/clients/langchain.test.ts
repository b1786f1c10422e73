import type { BaseMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import type { Client } from "./client.ts";
import { chatOf, langChainMessages, toolsOf } from "./langchain-client.ts";
import { riverSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

testClient("LangChain", (access): Client => {
  return {
    async answer(ask) {
      const { text, usage_metadata, additional_kwargs } = await chatOf(access, ask).invoke(
        langChainMessages(ask),
      );
      return {
        text,
        tokens: usage_metadata?.total_tokens,
        thinking: additional_kwargs["reasoning_content"] as string | undefined,
      };
    },
    async stream(ask) {
      let text = "";
      let tokens = 0;
      const stream = await chatOf(access, ask).stream(langChainMessages(ask), { signal: ask.signal });
      for await (const chunk of stream) {
        text += chunk.text;
        tokens += chunk.usage_metadata?.total_tokens ?? 0;
        if (chunk.text) ask.onPiece?.(chunk.text);
      }
      return { text, tokens };
    },
    async callTool(ask, tool) {
      const chat = chatOf(access, ask).bindTools(toolsOf([tool]));
      const [call] = (await chat.invoke(langChainMessages(ask))).tool_calls ?? [];
      return call && { name: call.name, input: call.args };
    },
    async runTools(ask, given) {
      const tools = toolsOf(given);
      const chat = chatOf(access, ask).bindTools(tools);
      const asked = langChainMessages(ask);
      const answer = await chat.invoke(asked);
      const calls = answer.tool_calls ?? [];
      const results: BaseMessage[] = await Promise.all(
        calls.flatMap((call) =>
          tools
            .filter(({ name }) => name === call.name)
            .map((found) => found.invoke({ ...call, type: "tool_call" })),
        ),
      );
      return { text: (await chat.invoke([...asked, answer, ...results])).text };
    },
    bySchema: (ask) =>
      chatOf(access, ask)
        .withStructuredOutput(riverSchema, { method: "jsonSchema", name: "river" })
        .invoke(langChainMessages(ask)),
    byTool: (ask) =>
      chatOf(access, ask)
        .withStructuredOutput(riverSchema, { method: "functionCalling", name: "river" })
        .invoke(langChainMessages(ask)),
    byJSON: (ask) =>
      chatOf(access, ask)
        .withStructuredOutput(riverSchema, { method: "jsonMode" })
        .invoke(langChainMessages(ask)),
    async respond(ask) {
      const { apiKey, baseURL } = access;
      const { model } = ask;
      const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL }, useResponsesApi: true });
      return { text: (await chat.invoke(langChainMessages(ask))).text };
    },
  };
});
