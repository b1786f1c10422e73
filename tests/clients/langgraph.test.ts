import type { BaseMessage } from "@langchain/core/messages";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import type { Access, ChatCall, Client, RiverTool } from "./client.ts";
import { createChat, langChainMessages, toTools } from "./langchain-client.ts";
import { riverSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

testClient("LangGraph", (access): Client => {
  async function run(call: ChatCall, tools: readonly RiverTool[]) {
    const { messages } = await createAgent(access, call, tools).invoke({ messages: langChainMessages(call) });
    return { text: messages.at(-1)?.text ?? "", tokens: countTokens(messages.at(-1)) };
  }

  async function stream(call: ChatCall, tools: readonly RiverTool[]) {
    let text = "";
    let tokens = 0;
    const { onPiece, signal } = call;
    const options = { streamMode: "messages" as const, ...(signal && { signal }) };
    const stream = await createAgent(access, call, tools).stream(
      { messages: langChainMessages(call) },
      options,
    );
    for await (const [message] of stream) {
      tokens += countTokens(message);
      if (!message.text || message.type === "tool") continue;
      text += message.text;
      onPiece?.(message.text);
    }
    return { text, tokens };
  }

  return {
    complete: (call) => run(call, []),
    stream: (call) => stream(call, []),
    runTools: run,
    streamTools: stream,
    async bySchema(call) {
      const agent = createReactAgent({
        llm: createChat(access, call),
        tools: [],
        responseFormat: riverSchema,
      });
      return (await agent.invoke({ messages: langChainMessages(call) })).structuredResponse;
    },
  };
});

function createAgent(access: Access, call: ChatCall, tools: readonly RiverTool[]) {
  return createReactAgent({ llm: createChat(access, call), tools: toTools(tools) });
}

function countTokens(message: BaseMessage | undefined): number {
  const { usage_metadata: usage } = (message ?? {}) as { usage_metadata?: { total_tokens: number } };
  return usage?.total_tokens ?? 0;
}
