import type { Client } from "../../client.js";
import { asError } from "../../errors.js";
import { chatModels } from "../../models.js";
import type { ChatRequest, ToolDefinition } from "../protocol/request-body.js";
import { historyOf } from "./history.js";
import { jsonSchemaOf } from "./json-schema.js";
import type { ThreadMessage } from "./message.js";
import type { ChatStoreOptions } from "./options.js";

/**
 * Makes the request for the answer to a thread, synchronously if nothing is async. `instructions`, the schema and the
 * tools are read for each request, so that a step after a tool call has the current ones.
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
    schema && descriptionOf(client, schema),
    ...tools.map((tool) => tool.definition()),
  ]).then(([said, described, ...definitions]) =>
    write([said, described].filter(Boolean).join("\n\n"), definitions),
  );

  function write(system?: string, definitions: readonly ToolDefinition[] = []): ChatRequest {
    const { tools: plain = [] } = (params ?? {}) as { tools?: readonly ToolDefinition[] };
    const offered = [...plain, ...definitions];
    return {
      ...(schema && hasJSONMode(model) && { response_format: { type: "json_object" } }),
      ...params,
      model,
      messages: [...(system ? [{ role: "system", content: system }] : []), ...historyOf(thread)],
      ...(offered.length > 0 && { tools: offered }),
    } as ChatRequest;
  }
}

/** Writes the schema for the system message; undefined, with a warning, if it has no JSON Schema. */
async function descriptionOf(
  client: Client,
  schema: NonNullable<ChatStoreOptions["schema"]>,
): Promise<string | undefined> {
  try {
    const written = JSON.stringify(await jsonSchemaOf(schema, "schema"));
    return `Answer with JSON only, without any other text. The JSON must fit this JSON Schema:\n${written}`;
  } catch (error) {
    const message = `${asError(error).message}; the prompt has to ask for the JSON`;
    client.warn({ path: "schema", message, rule: "chat.schema" });
    return undefined;
  }
}

function hasJSONMode(model: string): boolean {
  return Object.hasOwn(chatModels, model) && chatModels[model as keyof typeof chatModels].jsonMode;
}
