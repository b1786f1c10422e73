import {
  type ChatRequest,
  type ChatRequestMessage,
  type Client,
  ConfigurationError,
  repairMessages,
  TimeoutError,
} from "@sluice/core";
import {
  addDetails,
  createToolMessage,
  formatToolError,
  isRecord,
  openSpan,
  rejectOnAbort,
  type ToolCall,
} from "@sluice/core/internal";
import { type ChatMessage, type ChatToolCall, wireMessageOf } from "./message.js";
import type { ChatStoreOptions } from "./options.js";

// loaded with the first thread that has tool calls, and for chats with `prepareMessages`

/**
 * Makes the messages of a request from a thread with tool calls. Each tool call is followed by its result. Thinking is sent back
 * unchanged in turns that called tools (spec, Model `alpha-v4.1-flash`), and left out of all others.
 */
export function historyOf(messages: readonly ChatMessage[]): ChatRequestMessage[] {
  const turns: ChatMessage[][] = [];
  for (const message of messages) {
    const turn = turns.at(-1);
    if (turn && message.role !== "user") turn.push(message);
    else turns.push([message]);
  }
  const wire = turns.flatMap((turn) => {
    const calledTools = turn.some(({ toolCalls }) => toolCalls?.length);
    return turn.flatMap((message) => wireMessagesOf(message, calledTools));
  });
  return repairMessages(wire);
}

function wireMessagesOf(message: ChatMessage, calledTools: boolean): ChatRequestMessage[] {
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

function wireCallOf({ id, name, arguments: text }: ChatToolCall): ToolCall {
  return { id, type: "function", function: { name, arguments: text } };
}

function resultOf({ id, state, output, error }: ChatToolCall): ChatRequestMessage[] {
  if (state === "done")
    return [createToolMessage(id, typeof output === "string" ? output : (JSON.stringify(output) ?? "null"))];
  return error === undefined ? [] : [createToolMessage(id, formatToolError(error))];
}

/**
 * Replaces the messages of a request by those that `prepareMessages` returns, repaired. It may take as long as a request.
 *
 * @param owner aborts when the turn ends
 */
export async function prepared(
  client: Client,
  request: ChatRequest,
  { prepareMessages, timeout }: ChatStoreOptions,
  owner: AbortSignal,
): Promise<ChatRequest> {
  const { totalMs = Number.POSITIVE_INFINITY } = { ...client.timeout, ...timeout };
  const late = () =>
    addDetails(
      new TimeoutError(`prepareMessages had no result after ${totalMs} ms (timeout.totalMs)`, "total"),
      { delivery: "not-sent" },
    );
  const { signal, end } = openSpan(client.clock, owner, totalMs, late);
  try {
    const given = request.messages as readonly ChatRequestMessage[];
    const work = async () => prepareMessages?.([...given], { signal });
    const messages = await rejectOnAbort(work(), signal);
    return { ...request, messages: assertList(client, messages) } as ChatRequest;
  } finally {
    end();
  }
}

/** @throws {ConfigurationError} for a result that is no list of messages; all else is checked with the request */
function assertList(client: Client, messages: unknown): readonly ChatRequestMessage[] {
  if (!Array.isArray(messages) || !messages.every(isRecord))
    throw new ConfigurationError("prepareMessages: must return the list of messages to send");
  const given = new Set<unknown>(messages);
  const whole = repairMessages(messages as unknown as readonly ChatRequestMessage[]);
  // results without their calls are left out silently: a list that is cut in the middle begins with them
  if (whole.some((message) => !given.has(message)))
    client.warn({
      path: "prepareMessages",
      message: "left a tool call without its result: the model is told that the call was cancelled",
      rule: "chat.prepare-messages",
    });
  return whole;
}
