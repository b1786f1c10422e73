import type { UIMessage, UIMessageChunk } from "ai";
import { runCall, type ToolContext } from "./tools.js";

/** Results of the calls that the user has approved or denied, by call id. */
export type CallResults = ReadonlyMap<string, UIMessageChunk>;

/** Runs the approved calls of a message, and closes the denied calls. */
export async function* settleApprovals(
  message: UIMessage | undefined,
  context: ToolContext,
): AsyncGenerator<UIMessageChunk, CallResults> {
  const results = new Map<string, UIMessageChunk>();
  for (const part of message?.parts ?? []) {
    if (!("toolCallId" in part) || part.state !== "approval-responded") continue;
    const { toolCallId, input, approval } = part;
    const toolName = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
    const chunk: UIMessageChunk = approval.approved
      ? await runCall({ toolCallId, toolName, input }, context)
      : { type: "tool-output-denied", toolCallId };
    results.set(toolCallId, chunk);
    yield chunk;
  }
  return results;
}

/** Returns a copy of a message with the results of its calls. */
export function addCallResults<Message extends UIMessage>(message: Message, results: CallResults): Message {
  const parts = message.parts.map((part) => {
    const chunk = "toolCallId" in part ? results.get(part.toolCallId) : undefined;
    switch (chunk?.type) {
      case "tool-output-available":
        return { ...part, state: "output-available", output: chunk.output };
      case "tool-output-error":
        return { ...part, state: "output-error", errorText: chunk.errorText };
      case "tool-output-denied":
        return { ...part, state: "output-denied" };
      default:
        return part;
    }
  });
  return { ...message, parts: parts as Message["parts"] };
}
