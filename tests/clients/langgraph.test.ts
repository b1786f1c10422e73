import type { BaseMessage } from "@langchain/core/messages";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import type { Access, Ask, Client, RiverTool } from "./client.ts";
import { chatOf, langChainMessages, toolsOf } from "./langchain-client.ts";
import { riverSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

testClient("LangGraph", (access): Client => {
  async function run(ask: Ask, tools: readonly RiverTool[]) {
    const { messages } = await agentOf(access, ask, tools).invoke({ messages: langChainMessages(ask) });
    return { text: messages.at(-1)?.text ?? "", tokens: tokensOf(messages.at(-1)) };
  }

  async function stream(ask: Ask, tools: readonly RiverTool[]) {
    let text = "";
    let tokens = 0;
    const { onPiece, signal } = ask;
    const given = { streamMode: "messages" as const, ...(signal && { signal }) };
    const stream = await agentOf(access, ask, tools).stream({ messages: langChainMessages(ask) }, given);
    for await (const [message] of stream) {
      tokens += tokensOf(message);
      if (!message.text || message.type === "tool") continue;
      text += message.text;
      onPiece?.(message.text);
    }
    return { text, tokens };
  }

  return {
    answer: (ask) => run(ask, []),
    stream: (ask) => stream(ask, []),
    runTools: run,
    streamTools: stream,
    async bySchema(ask) {
      const agent = createReactAgent({ llm: chatOf(access, ask), tools: [], responseFormat: riverSchema });
      return (await agent.invoke({ messages: langChainMessages(ask) })).structuredResponse;
    },
  };
});

function agentOf(access: Access, ask: Ask, tools: readonly RiverTool[]) {
  return createReactAgent({ llm: chatOf(access, ask), tools: toolsOf(tools) });
}

function tokensOf(message: BaseMessage | undefined): number {
  const { usage_metadata: usage } = (message ?? {}) as { usage_metadata?: { total_tokens: number } };
  return usage?.total_tokens ?? 0;
}
