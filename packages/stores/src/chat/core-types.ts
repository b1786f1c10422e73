import type { AssistantMessage, ChatRequest, ChatResult, ClientEvent, ToolContext } from "@sluice/core";

/* Names for parts of the core's types. */

/** Times of a response. */
export type ChatTiming = ChatResult["timing"];

/** A file that a tool attaches to its message. */
export type ThreadFile = Parameters<ToolContext["attachFile"]>[0];

/** A call of a tool, as the gateway sends and receives it. */
export type ToolCall = NonNullable<AssistantMessage["tool_calls"]>[number];

/** A tool, as a request describes it. */
export type ToolDefinition = NonNullable<Extract<ChatRequest, { tools?: unknown }>["tools"]>[number];

/** A run of a tool, in events. */
export type ToolRun = Omit<Extract<ClientEvent, { readonly type: "tool-start" }>, "type">;
