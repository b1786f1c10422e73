import {
  type ChatRequest,
  type ChatRequestMessage,
  type Client,
  ConfigurationError,
  type Tool,
} from "@sluice/core";
import { optionalParts } from "./load-optional-parts.js";
import { type ChatMessage, toWireMessage } from "./message.js";
import type { ChatStoreOptions } from "./options.js";

/** A tool, as a request describes it. */
type ToolDefinition = NonNullable<Extract<ChatRequest, { tools?: unknown }>["tools"]>[number];

/**
 * Creates the request for the next response of a thread. Returns no promise if nothing is async. `instructions`, the
 * schema and the tools are read for each request, so that a step after a tool call uses the current values.
 */
export function createRequest(
  client: Client,
  options: ChatStoreOptions,
  thread: readonly ChatMessage[],
): ChatRequest | Promise<ChatRequest> {
  const { model, params, instructions, tools = [], outputSchema } = options;
  const history = createMessages(thread);
  if (
    typeof instructions !== "function" &&
    !outputSchema &&
    tools.length === 0 &&
    !(history instanceof Promise)
  )
    return combine(history, instructions);
  return Promise.all([
    history,
    typeof instructions === "function" ? instructions() : instructions,
    outputSchema &&
      optionalParts.load().then(({ createJSONParts }) => createJSONParts(client, model, outputSchema)),
    ...readDefinitions(tools),
  ]).then(([messages, text, json, ...definitions]) =>
    combine(messages, [text, json?.instructions].filter(Boolean).join("\n\n"), definitions, json?.mode),
  );

  function combine(
    messages: readonly ChatRequestMessage[],
    system?: string,
    definitions: readonly ToolDefinition[] = [],
    mode?: object,
  ): ChatRequest {
    const { tools: paramTools = [] } = (params ?? {}) as { tools?: readonly ToolDefinition[] };
    const offered = [...paramTools, ...definitions];
    return {
      ...mode,
      ...params,
      model,
      messages: [...(system ? [{ role: "system", content: system }] : []), ...messages],
      ...(offered.length > 0 && { tools: offered }),
    } as ChatRequest;
  }
}

/** @throws {ConfigurationError} for tools in the form of another library */
function readDefinitions(tools: readonly Tool[]): Promise<ToolDefinition>[] {
  if (Array.isArray(tools) && tools.every((tool) => tool?.definition))
    return tools.map((tool) => tool.definition());
  throw new ConfigurationError("tools: give a list of tools made by defineTool()");
}

/** Creates the messages of a request. Loads the code for tool results with the first thread that has tool calls. */
function createMessages(
  thread: readonly ChatMessage[],
): readonly ChatRequestMessage[] | Promise<readonly ChatRequestMessage[]> {
  if (thread.some(({ toolCalls }) => toolCalls?.length))
    return optionalParts.load().then(({ createHistory }) => createHistory(thread));
  // a gateway rejects an assistant message without content
  return thread.filter(({ role, content }) => role !== "assistant" || content).map(toWireMessage);
}
