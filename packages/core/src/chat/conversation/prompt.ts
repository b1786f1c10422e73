import type { Client } from "../../client.js";
import type { ChatRequest, ToolDefinition } from "../protocol/request-body.js";
import { historyOf } from "./history.js";
import type { ThreadMessage } from "./message.js";
import type { ChatStoreOptions } from "./options.js";

/**
 * Makes the request for the answer to a thread, without a promise if nothing is async. `instructions`, the schema and
 * the tools are read for each request, so that a step after a tool call has the current ones.
 */
export function requestOf(
  client: Client,
  options: ChatStoreOptions,
  thread: readonly ThreadMessage[],
): ChatRequest | Promise<ChatRequest> {
  const { model, params, instructions, tools = [], schema } = options;
  if (typeof instructions !== "function" && !schema && tools.length === 0) return write(instructions);
  return Promise.all([
    typeof instructions === "function" ? instructions() : instructions,
    schema && import("./json-schema.js").then(({ jsonPartsOf }) => jsonPartsOf(client, model, schema)),
    ...tools.map((tool) => tool.definition()),
  ]).then(([text, json, ...definitions]) =>
    write([text, json?.instructions].filter(Boolean).join("\n\n"), definitions, json?.mode),
  );

  function write(system?: string, definitions: readonly ToolDefinition[] = [], mode?: object): ChatRequest {
    const { tools: plain = [] } = (params ?? {}) as { tools?: readonly ToolDefinition[] };
    const offered = [...plain, ...definitions];
    return {
      ...mode,
      ...params,
      model,
      messages: [...(system ? [{ role: "system", content: system }] : []), ...historyOf(thread)],
      ...(offered.length > 0 && { tools: offered }),
    } as ChatRequest;
  }
}
