import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import type { Access, ChatCall, RiverTool } from "./client.ts";
import { toolInput } from "./rivers.ts";

/* The models, messages and tools of LangChain, which the tests of LangChain and LangGraph share. */

export function createChat(
  { apiKey, baseURL }: Access,
  { model, maxTokens, temperature, stop }: ChatCall,
): ChatOpenAI {
  return new ChatOpenAI({
    model,
    apiKey,
    configuration: { baseURL },
    // 6 by default
    maxRetries: 2,
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(stop && { stop: [...stop] }),
  });
}

export function langChainMessages({ turns, system, image }: ChatCall): BaseMessage[] {
  const messages = turns.map(({ role, text }, at) => {
    if (role === "assistant") return new AIMessage(text);
    if (!image || at < turns.length - 1) return new HumanMessage(text);
    const imagePart = { type: "image_url", image_url: { url: image } };
    return new HumanMessage({ content: [{ type: "text", text }, imagePart] });
  });
  return system === undefined ? messages : [new SystemMessage(system), ...messages];
}

export function toTools(tools: readonly RiverTool[]) {
  return tools.map(({ name, description, run }) =>
    tool(async ({ river }: { river: string }) => run(river), { name, description, schema: toolInput }),
  );
}
