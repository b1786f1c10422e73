import type { Tool } from "@sluice/core";
import { describeThrown, openSpan, rejectOnAbort } from "@sluice/core/extend";
import type { ChatMessage, ChatToolCall } from "@sluice/stores";
import { type Chat, checkInput, parseInput } from "@sluice/stores/extend";
import { getLastMessage } from "../base.js";
import { claim } from "./server-requests.js";

// loaded with the first turn of a chat that runs on the server

/** Calls that this page has begun, by the chat. */
const begun = new WeakMap<Chat, Set<string>>();

/** Runs calls of the last message that wait for a page, each in one page of all. */
export function runPageTools(chat: Chat): void {
  const message = getLastMessage(chat);
  const known = begun.get(chat) ?? new Set();
  begun.set(chat, known);
  for (const call of message?.toolCalls ?? []) {
    const key = `${message?.id}/${call.id}`;
    const tool = chat.own().tools?.find(({ name, execute }) => execute && name === call.name);
    if (!message || !tool || call.state !== "needs-output" || known.has(key)) continue;
    known.add(key);
    void runPageTool(chat, tool, message, call);
  }
}

async function runPageTool(chat: Chat, tool: Tool, message: ChatMessage, call: ChatToolCall): Promise<void> {
  try {
    if (!(await claim(chat, `/claim/${message.id}/${call.id}`, {}))) return;
    const output = await outputOf(chat, tool, message, call);
    await claim(chat, `/reaction/${message.id}/${call.id}`, { output: output ?? null });
  } catch {
    // the server asks no other page: it tells the model after a while that there is no result
  }
}

/** Runs a tool of the page. An error, also one of a slow tool, is its output: the model reads it. */
async function outputOf(
  { client, thread }: Chat,
  tool: Tool,
  message: ChatMessage,
  call: ChatToolCall,
): Promise<unknown> {
  const { timeoutMs } = tool;
  const late = () => new Error(`no result after ${timeoutMs} ms`);
  const span = openSpan(client.clock, undefined, timeoutMs, late);
  const { signal } = span;
  const context = {
    signal,
    toolCallId: call.id,
    messages: thread.getPath(message.id),
    savedState: undefined,
  };
  const nothing = { saveState: async () => {}, reportProgress() {}, attachFile() {} };
  const run = async () => {
    const input = await checkInput(tool, parseInput(call));
    // a slow check may be over after the limit
    signal.throwIfAborted();
    return tool.execute?.(input, { ...context, ...nothing });
  };
  try {
    return await rejectOnAbort(run(), signal);
  } catch (cause) {
    return { error: describeThrown(cause) };
  } finally {
    span.end();
  }
}
