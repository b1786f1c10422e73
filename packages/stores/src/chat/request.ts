import {
  type ChatRequest,
  type ChatRequestMessage,
  type Client,
  ConfigurationError,
  type Tool,
} from "@sluice/core";
import type { ToolDefinition } from "@sluice/core/internal";
import { type ChatMessage, wireMessageOf } from "./message.js";
import type { ChatStoreOptions } from "./options.js";

/**
 * Makes the request for the answer to a thread, without a promise if nothing is async. `instructions`, the schema and
 * the tools are read for each request, so that a step after a tool call has the current ones.
 */
export function requestOf(
  client: Client,
  options: ChatStoreOptions,
  thread: readonly ChatMessage[],
): ChatRequest | Promise<ChatRequest> {
  const { model, params, instructions, tools = [], outputSchema } = options;
  const history = historyOf(thread);
  if (
    typeof instructions !== "function" &&
    !outputSchema &&
    tools.length === 0 &&
    !(history instanceof Promise)
  )
    return write(history, instructions);
  return Promise.all([
    history,
    typeof instructions === "function" ? instructions() : instructions,
    outputSchema &&
      import("./structured-output.js").then(({ jsonPartsOf }) => jsonPartsOf(client, model, outputSchema)),
    ...definitionsOf(tools),
  ]).then(([messages, text, json, ...definitions]) =>
    write(messages, [text, json?.instructions].filter(Boolean).join("\n\n"), definitions, json?.mode),
  );

  function write(
    messages: readonly ChatRequestMessage[],
    system?: string,
    definitions: readonly ToolDefinition[] = [],
    mode?: object,
  ): ChatRequest {
    const { tools: plain = [] } = (params ?? {}) as { tools?: readonly ToolDefinition[] };
    const offered = [...plain, ...definitions];
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
function definitionsOf(tools: readonly Tool[]): Promise<ToolDefinition>[] {
  if (Array.isArray(tools) && tools.every((tool) => tool?.definition))
    return tools.map((tool) => tool.definition());
  throw new ConfigurationError("tools: give a list of tools made by defineTool()");
}

/** Makes the messages of a request. Loads the code that places results of tools with the first thread that has some. */
function historyOf(
  thread: readonly ChatMessage[],
): readonly ChatRequestMessage[] | Promise<readonly ChatRequestMessage[]> {
  if (thread.some(({ toolCalls }) => toolCalls?.length))
    return import("./history.js").then(({ historyOf }) => historyOf(thread));
  // a gateway refuses an answer without any content
  return thread.filter(({ role, content }) => role !== "assistant" || content).map(wireMessageOf);
}
