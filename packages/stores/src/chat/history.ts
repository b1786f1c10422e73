import { type ChatRequestMessage, repairHistory } from "@sluice/core";
import { errorText, type ToolCall, toolMessage } from "@sluice/core/internal";
import { type ThreadMessage, type ThreadToolCall, wireMessageOf } from "./message.js";

// loaded with the first thread that has tool calls

/**
 * Makes the messages of a request from a thread with tool calls. Each tool call is followed by its result. Thinking is sent back
 * unchanged in turns that called tools (spec, Model `alpha-v4.1-flash`), and left out of all others.
 */
export function historyOf(messages: readonly ThreadMessage[]): ChatRequestMessage[] {
  const turns: ThreadMessage[][] = [];
  for (const message of messages) {
    const turn = turns.at(-1);
    if (turn && message.role !== "user") turn.push(message);
    else turns.push([message]);
  }
  const wire = turns.flatMap((turn) => {
    const calledTools = turn.some(({ toolCalls }) => toolCalls?.length);
    return turn.flatMap((message) => wireMessagesOf(message, calledTools));
  });
  return repairHistory(wire);
}

function wireMessagesOf(message: ThreadMessage, calledTools: boolean): ChatRequestMessage[] {
  const { role, content, reasoning, toolCalls } = message;
  if (role !== "assistant") return [wireMessageOf(message)];
  return [
    {
      role,
      content,
      ...(calledTools && reasoning !== undefined && { reasoning_content: reasoning }),
      ...(toolCalls?.length && { tool_calls: toolCalls.map(wireCallOf) }),
    },
    ...(toolCalls ?? []).flatMap(resultOf),
  ];
}

function wireCallOf({ id, name, arguments: text }: ThreadToolCall): ToolCall {
  return { id, type: "function", function: { name, arguments: text } };
}

function resultOf({ id, state, output, error }: ThreadToolCall): ChatRequestMessage[] {
  if (state === "done")
    return [toolMessage(id, typeof output === "string" ? output : (JSON.stringify(output) ?? "null"))];
  return error === undefined ? [] : [toolMessage(id, errorText(error))];
}
