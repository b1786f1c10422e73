import { parseJSON } from "../transport/error-response.js";
import type { ChatRequestMessage, ToolCall } from "./protocol/message-schema.js";

/** Result to send for a tool call without one. */
const NO_RESULT = "the call was cancelled before it had a result";

/**
 * Repairs a history so that a gateway accepts it.
 *
 * - Puts the result of each tool call after the call. A call without a result gets a result that says "cancelled".
 * - Removes a result without its call, and a second result of one call.
 * - Replaces arguments that are not JSON by `{}` if the call has a result. Removes a truncated call.
 * - Removes an assistant message without content.
 * - Removes a call without a name.
 * - Converts ids of calls to text. A call without an id, and a second call with the same id, get a new id.
 *
 * @param messages the history. It is not modified, and valid messages are returned unchanged
 * @example
 * ```ts
 * const messages = repairMessages([...saved, { role: "user", content: "Go on" }]);
 * const turn = await completeChat(client, { model: "alpha-v4.1-flash", messages });
 * ```
 */
export function repairMessages(messages: readonly ChatRequestMessage[]): ChatRequestMessage[] {
  const entries: { message: ChatRequestMessage; results: Results }[] = [];
  const lastCaller = new Map<string, Results>();
  for (const message of messages) {
    if (message.role === "tool") {
      const expected = lastCaller.get(String(message.tool_call_id));
      expected?.get(String(message.tool_call_id))?.push(message);
      continue;
    }
    const results: Results = new Map();
    for (const { id } of message.tool_calls ?? []) {
      results.set(String(id), []);
      lastCaller.set(String(id), results);
    }
    entries.push({ message, results });
  }
  return entries.flatMap(({ message, results }) =>
    message.role === "assistant" ? repairToolCalls(message, results) : [message],
  );
}

/** Results of the calls of one message, by id. Two calls with the same id use them in order. */
type Results = Map<string, ToolMessage[]>;
type ToolMessage = Extract<ChatRequestMessage, { role: "tool" }>;

function repairToolCalls(message: ChatRequestMessage, results: Results): ChatRequestMessage[] {
  const { tool_calls: given, ...rest } = message;
  const calls = given ?? [];
  const ids = new Set<string>();
  const sound: { call: ToolCall; result: ToolMessage }[] = [];
  for (const [index, call] of calls.entries()) {
    const result = results.get(String(call.id))?.shift();
    if (call.function.name === "" || (!result && !hasJSON(call))) continue;
    // a truncated response may lack the id
    const given = String(call.id);
    const id = given === "" || ids.has(given) ? `${given || "call"}-${index}` : given;
    ids.add(id);
    sound.push({
      call: repairCall(call, id),
      result:
        result?.tool_call_id === id
          ? result
          : createToolMessage(id, result?.content ?? formatToolError(NO_RESULT)),
    });
  }
  if (sound.length === 0 && !message.content?.length) return [];
  const isSound = sound.length === calls.length && sound.every(({ call }, index) => call === calls[index]);
  const tool_calls = sound.map(({ call }) => call);
  const repaired = isSound ? message : sound.length > 0 ? { ...message, tool_calls } : rest;
  return [repaired, ...sound.map(({ result }) => result)];
}

/** Replaces empty arguments by `{}`: a model may write none, but the gateway requires JSON. */
function repairCall(call: ToolCall, id: string): ToolCall {
  const { name, arguments: text } = call.function;
  if (text.trim() === "" || !hasJSON(call)) return { ...call, id, function: { name, arguments: "{}" } };
  return call.id === id ? call : { ...call, id };
}

function hasJSON({ function: { arguments: text } }: ToolCall): boolean {
  return text.trim() === "" || parseJSON(text) !== undefined;
}

/** Creates the message with the result of a call. */
export function createToolMessage(id: string, content: ToolMessage["content"]): ToolMessage {
  return { role: "tool", tool_call_id: id, content };
}

/** Formats an error as the result of a call. */
export function formatToolError(error: string): string {
  return JSON.stringify({ error });
}
