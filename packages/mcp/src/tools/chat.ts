import { type ChatRequest, type ChatResult, streamChat } from "@sluice/core";
import { billOnce } from "@sluice/core/extend";
import type { models } from "@sluice/core/schemas";
import { describeShortfall } from "../base/shortfall.js";
import { createRequestSchema, createText, createToolName, type Tool } from "../base/tool.js";

/** Creates the tool of a chat model. It streams, so that a long message shows progress. */
export function createChatTool(model: keyof typeof models): Tool {
  return {
    name: createToolName("chat", model),
    title: `Chat with ${model}`,
    description: `Sends a conversation to the model and returns its reply. Costs money.`,
    inputSchema: createRequestSchema(model),
    outputSchema: {
      type: "object",
      properties: { outcome: { type: "string" }, total_tokens: { type: "number" } },
      required: ["outcome"],
    },
    paid: "resumable-streams",
    async run(input, { client, signal, idempotencyKey, report }) {
      const request: object = { ...input, model };
      let length = 0;
      const stream = streamChat(billOnce(client), request as ChatRequest, { signal, idempotencyKey });
      for await (const delta of stream) {
        if (delta.type === "text-delta" || delta.type === "reasoning-delta") length += delta.text.length;
        report.setProgress(length, `${length} characters`);
      }
      return toToolResult(await stream.result());
    },
  };
}

function toToolResult(result: ChatResult) {
  const { message, toolCalls, outcome, usage } = result;
  const calls = toolCalls.length > 0 ? [`Tool calls: ${JSON.stringify(message.tool_calls)}`] : [];
  const text = typeof message.content === "string" ? message.content : "";
  return {
    content: [text, ...calls, describeShortfall(result) ?? ""].filter(Boolean).map(createText),
    structuredContent: { outcome, ...(usage && { total_tokens: usage.total_tokens }) },
  };
}
