import { type ChatRequest, type ChatResult, streamChat } from "@sluice/core";
import type { models } from "@sluice/core/schemas";
import { billedOnce } from "../base/billed-once.js";
import { shortfallOf } from "../base/endings.js";
import { requestSchema, type Tool, text, toolName } from "../base/tool.js";

/** Makes the tool of a chat model. Its answer is a stream, so that a long one shows progress. */
export function chatTool(model: keyof typeof models): Tool {
  return {
    name: toolName("chat", model),
    title: `Chat with ${model}`,
    description: `Sends a conversation to the model and returns its answer. Costs money.`,
    inputSchema: requestSchema(model),
    outputSchema: {
      type: "object",
      properties: { outcome: { type: "string" }, total_tokens: { type: "number" } },
      required: ["outcome"],
    },
    paid: "chat-once",
    async run(input, { client, signal, idempotencyKey, report }) {
      const request = { ...input, model } as unknown as ChatRequest;
      let length = 0;
      const stream = streamChat(billedOnce(client), request, { signal, idempotencyKey });
      for await (const delta of stream) {
        if (delta.type === "text-delta" || delta.type === "reasoning-delta") length += delta.text.length;
        report.at(length, `${length} characters`);
      }
      return resultOf(await stream.result());
    },
  };
}

function resultOf(turn: ChatResult) {
  const { message, toolCalls, outcome, usage } = turn;
  const calls = toolCalls.length > 0 ? [`Tool calls: ${JSON.stringify(message.tool_calls)}`] : [];
  const answer = typeof message.content === "string" ? message.content : "";
  return {
    content: [answer, ...calls, shortfallOf(turn) ?? ""].filter(Boolean).map(text),
    structuredContent: { outcome, ...(usage && { total_tokens: usage.total_tokens }) },
  };
}
