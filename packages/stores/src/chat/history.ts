import {
  type ChatRequest,
  type ChatRequestMessage,
  type Client,
  ConfigurationError,
  repairMessages,
  TimeoutError,
} from "@sluice/core";
import { isRecord, openSpan, rejectOnAbort } from "@sluice/core/extend";
import { type ChatMessage, type ChatToolCall, type ToolCall, toWireMessage } from "./message.js";
import type { ChatStoreOptions } from "./options.js";

/**
 * Creates the messages of a request from a thread with tool calls. Each tool call is followed by its result. Turns with
 * tool calls include their reasoning unchanged (spec, Model `alpha-v4.1-flash`); other turns omit it.
 */
export function createHistory(messages: readonly ChatMessage[]): ChatRequestMessage[] {
  const turns: ChatMessage[][] = [];
  for (const message of messages) {
    const turn = turns.at(-1);
    if (turn && message.role !== "user") turn.push(message);
    else turns.push([message]);
  }
  const wire = turns.flatMap((turn) => {
    const calledTools = turn.some(({ toolCalls }) => toolCalls?.length);
    return turn.flatMap((message) => toWireMessages(message, calledTools));
  });
  return repairMessages(wire);
}

function toWireMessages(message: ChatMessage, calledTools: boolean): ChatRequestMessage[] {
  const { role, content, reasoning, toolCalls } = message;
  if (role !== "assistant") return [toWireMessage(message)];
  return [
    {
      role,
      content,
      ...(calledTools && reasoning !== undefined && { reasoning_content: reasoning }),
      ...(toolCalls?.length && { tool_calls: toolCalls.map(toWireCall) }),
    },
    ...(toolCalls ?? []).flatMap(toResultMessages),
  ];
}

function toWireCall({ id, name, arguments: text }: ChatToolCall): ToolCall {
  return { id, type: "function", function: { name, arguments: text } };
}

function toResultMessages({ id, state, output, error }: ChatToolCall): ChatRequestMessage[] {
  if (state === "done")
    return [createToolMessage(id, typeof output === "string" ? output : (JSON.stringify(output) ?? "null"))];
  return error === undefined ? [] : [createToolMessage(id, JSON.stringify({ error }))];
}

function createToolMessage(id: string, content: string): ChatRequestMessage {
  return { role: "tool", tool_call_id: id, content };
}

/**
 * Replaces the messages of a request by the result of `prepareMessages`, repaired.
 *
 * @param turnSignal aborts when the turn ends
 * @throws {TimeoutError} after `timeout.totalMs`
 */
export async function applyPrepareMessages(
  client: Client,
  request: ChatRequest,
  { prepareMessages, timeout }: ChatStoreOptions,
  turnSignal: AbortSignal,
): Promise<ChatRequest> {
  const { totalMs = Number.POSITIVE_INFINITY } = { ...client.timeout, ...timeout };
  const createTimeoutError = () =>
    Object.assign(
      new TimeoutError(`prepareMessages had no result after ${totalMs} ms (timeout.totalMs)`, "total"),
      { billing: "none" },
    );
  const { signal, end } = openSpan(client.clock, turnSignal, totalMs, createTimeoutError);
  try {
    const original = request.messages as readonly ChatRequestMessage[];
    const prepare = async () => prepareMessages?.([...original], { signal });
    const messages = await rejectOnAbort(prepare(), signal);
    return { ...request, messages: assertList(client, messages) } as ChatRequest;
  } finally {
    end();
  }
}

/** @throws {ConfigurationError} if the result is not a list of objects; the request check covers the rest */
function assertList(client: Client, messages: unknown): readonly ChatRequestMessage[] {
  if (!Array.isArray(messages) || !messages.every(isRecord))
    throw new ConfigurationError("prepareMessages: must return the list of messages to send");
  const returned = new Set<unknown>(messages);
  const repaired = repairMessages(messages as unknown as readonly ChatRequestMessage[]);
  // no warning for dropped results: an app that shortens the list may cut between a call and its result
  if (repaired.some((message) => !returned.has(message)))
    client.warn({
      path: "prepareMessages",
      message: "left a tool call without its result: the model gets a note that the call was cancelled",
      rule: "chat.prepare-messages",
    });
  return repaired;
}
