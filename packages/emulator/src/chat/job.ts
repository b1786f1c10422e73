import type { ChatModel, ChatRequest, ChatRequestMessage } from "@sluice/core";
import { type ModelRequest, models } from "@sluice/core/schemas";
import { faultTables } from "../server/fault-tables.js";
import { type Faults, readFaults } from "../server/faults.js";
import type { FieldURL } from "../server/fetch-media.js";
import { findExample, findSchema } from "./find-schema.js";
import { readText } from "./message-text.js";

/** A tool of a request. */
export type ToolDefinition = NonNullable<ModelRequest<"alpha-v4.1-flash">["tools"]>[number];

/** Reasoning effort. */
export type Effort = "none" | "low" | "high" | "max";

/** A request of any chat model in one shape, with defaults filled in. */
export interface ChatJob {
  readonly request: ChatRequest;
  readonly family: ChatFamily;
  /** Last user message, without its faults. */
  readonly prompt: string;
  readonly faults: Faults<keyof typeof faultTables.chat>;
  /** Number of user messages: the number of this turn. */
  readonly turn: number;
  /** Previous user message, without its faults. */
  readonly previousPrompt: string | undefined;
  /** URLs of the images of the last user message. */
  readonly images: readonly string[];
  /** Tool messages at the end of the request: results the model has not replied to. */
  readonly toolResults: readonly ToolResult[];
  readonly effort: Effort;
  readonly tools: readonly ToolDefinition[];
  /** Value of `tool_choice`. A name selects that tool. */
  readonly toolChoice: "none" | "auto" | "required" | { readonly name: string };
  readonly wantsJSON: boolean;
  /** JSON Schema for the reply, if the request contains one. */
  readonly replySchema: unknown;
  /** Example of the reply in JSON mode, if the request contains one. */
  readonly replyExample: object | undefined;
  readonly stops: readonly string[];
  readonly maxTokens: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

/** Family of a chat model. */
export type ChatFamily = (typeof models)[ChatModel]["family"];

/** Result of a tool call, with the name of the tool if the history contains it. */
export interface ToolResult {
  readonly name: string;
  readonly content: string;
}

/**
 * Reads a checked request.
 *
 * @param scriptedFaults faults of the script, `[[drop]]`
 */
export function readChatJob(request: ChatRequest, scriptedFaults?: string): ChatJob {
  const users = request.messages.filter(({ role }) => role === "user");
  const last = users.at(-1);
  const previous = users.at(-2);
  const faults = readFaults(last ? readText(last) : "", faultTables.chat, scriptedFaults);
  const wantsJSON = "response_format" in request && request.response_format?.type === "json_object";
  const tools = "tools" in request ? request.tools : undefined;
  return {
    request,
    family: models[request.model].family,
    prompt: faults.text,
    faults,
    turn: users.length,
    previousPrompt: previous && readFaults(readText(previous), faultTables.chat).text,
    images: last ? readImages(last) : [],
    toolResults: readToolResults(request.messages),
    effort: readEffort(request),
    tools: tools ?? [],
    toolChoice: readToolChoice(request),
    wantsJSON,
    replyExample: wantsJSON ? findExample(request) : undefined,
    replySchema: findSchema(request),
    stops: [("stop" in request && request.stop) || []].flat().filter((stop) => stop !== ""),
    maxTokens: request.max_tokens ?? Infinity,
    stream: request.stream ?? false,
    includeUsage: request.stream_options?.include_usage ?? false,
  };
}

/** Returns the URLs of all images of a request, with the paths of their fields. */
export function readImageURLs({ messages }: ChatRequest): FieldURL[] {
  return messages.flatMap((message, index) =>
    readImages(message).map((url) => ({ path: `messages.${index}.content`, url })),
  );
}

function readImages({ content }: ChatRequestMessage): string[] {
  if (typeof content === "string") return [];
  return (content ?? []).flatMap((part) => (part.type === "image_url" ? [part.image_url.url] : []));
}

function readToolResults(messages: readonly ChatRequestMessage[]): ToolResult[] {
  const names = new Map<string, string>();
  for (const { tool_calls } of messages)
    for (const call of tool_calls ?? []) names.set(call.id, call.function.name);
  const start = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  return messages.slice(start).map((message) => ({
    name: names.get(message.tool_call_id ?? "") ?? message.name ?? "tool",
    content: readText(message),
  }));
}

function readEffort(request: ChatRequest): Effort {
  const canThink = models[request.model].reasoningEffort.length > 0;
  if (!canThink || ("thinking" in request && request.thinking?.type === "disabled")) return "none";
  return ("reasoning_effort" in request && request.reasoning_effort) || "high";
}

function readToolChoice(request: ChatRequest): ChatJob["toolChoice"] {
  const choice = "tool_choice" in request ? request.tool_choice : undefined;
  return typeof choice === "object" ? { name: choice.function.name } : (choice ?? "auto");
}
