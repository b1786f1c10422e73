import type { ChatRequest, ChatRequestMessage, ToolDefinition } from "@sluice/core";
import { chatModels } from "@sluice/core/schemas";
import { isObject } from "./json-schema.js";
import { type ChatCues, readChatCues } from "./scenes.js";

/** How much the model thinks before it speaks. */
export type Effort = "none" | "low" | "high" | "max";

/** What a request asks for, read once: the three models' requests in one shape, defaults filled in. */
export interface Ask {
  readonly request: ChatRequest;
  readonly family: "alpha" | "gamma" | "delta";
  /** The last user message, without its cues. */
  readonly prompt: string;
  readonly cues: ChatCues;
  /** How many user messages there are: the turn this is. */
  readonly turn: number;
  /** The user message before the last one. */
  readonly earlier: string | undefined;
  /** The images of the last user message, as URLs. */
  readonly images: readonly string[];
  /** The tool messages at the very end: results that wait for an answer. */
  readonly toolResults: readonly ToolResult[];
  readonly effort: Effort;
  readonly tools: readonly ToolDefinition[];
  /** A name asks for that tool. */
  readonly toolChoice: "none" | "auto" | "required" | { readonly name: string };
  readonly wantsJSON: boolean;
  /** The JSON Schema that the answer has to fit, from the last system message that has one. */
  readonly answerSchema: unknown;
  readonly stops: readonly string[];
  readonly maxTokens: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

/** What a tool gave back, with the name it was called by if the history tells. */
export interface ToolResult {
  readonly name: string;
  readonly content: string;
}

/** Reads a request that has passed the gateway's rules. */
export function readAsk(request: ChatRequest): Ask {
  const users = request.messages.filter(({ role }) => role === "user");
  const last = users.at(-1);
  const before = users.at(-2);
  const cues = readChatCues(last ? textOf(last) : "");
  const tools = "tools" in request ? request.tools : undefined;
  const streamOptions = "stream_options" in request ? request.stream_options : undefined;
  return {
    request,
    family: chatModels[request.model].family,
    prompt: cues.text,
    cues,
    turn: users.length,
    earlier: before && readChatCues(textOf(before)).text,
    images: last ? imagesOf(last) : [],
    toolResults: trailingToolResults(request.messages),
    effort: effortOf(request),
    tools: tools ?? [],
    toolChoice: toolChoiceOf(request),
    wantsJSON: "response_format" in request && request.response_format?.type === "json_object",
    answerSchema: request.messages.flatMap(schemaIn).at(-1),
    stops: [request.stop ?? []].flat().filter((stop) => stop !== ""),
    maxTokens: request.max_tokens ?? Infinity,
    stream: request.stream ?? false,
    includeUsage: streamOptions?.include_usage ?? false,
  };
}

/** The text of a message; its parts are joined by line breaks. */
export function textOf({ content }: ChatRequestMessage): string {
  if (content === null || typeof content === "string") return content ?? "";
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** The spec has no field for a schema: clients write it into the system message, behind the words "JSON Schema". */
function schemaIn(message: ChatRequestMessage): unknown[] {
  const text = message.role === "system" ? textOf(message) : "";
  const [, written = ""] = /JSON schema[^{]*(\{.*\})/is.exec(text) ?? [];
  try {
    const schema: unknown = JSON.parse(written);
    return isObject(schema) ? [schema] : [];
  } catch {
    return [];
  }
}

function imagesOf({ content }: ChatRequestMessage): string[] {
  if (content === null || typeof content === "string") return [];
  return content.flatMap((part) => (part.type === "image_url" ? [part.image_url.url] : []));
}

function trailingToolResults(messages: readonly ChatRequestMessage[]): ToolResult[] {
  const names = new Map<string, string>();
  for (const { tool_calls } of messages)
    for (const call of tool_calls ?? []) names.set(call.id, call.function.name);
  const start = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  return messages.slice(start).map((message) => ({
    name: names.get(message.tool_call_id ?? "") ?? message.name ?? "tool",
    content: textOf(message),
  }));
}

function effortOf(request: ChatRequest): Effort {
  if (request.model === "gamma-chat-1-6-251015") return "none";
  if (request.model === "alpha-v4.1-flash" && request.thinking?.type === "disabled") return "none";
  return request.reasoning_effort ?? "high";
}

function toolChoiceOf(request: ChatRequest): Ask["toolChoice"] {
  const choice = "tool_choice" in request ? request.tool_choice : undefined;
  return typeof choice === "object" ? { name: choice.function.name } : (choice ?? "auto");
}
