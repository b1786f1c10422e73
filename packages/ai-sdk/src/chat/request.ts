import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { ChatModel, ChatRequest, ChatRequestMessage, Client } from "@sluice/core";
import { chatModels } from "@sluice/core/extend";
import { readFields } from "../base/provider-options.js";
import { createWarnings, type Warnings } from "../base/warnings.js";
import { toMessages } from "./messages.js";

type Options = LanguageModelV4CallOptions;
/** Bounds of a model. Undefined for an unknown model. */
type Row = (typeof chatModels)[ChatModel] | undefined;

/**
 * Converts a call of the SDK to a request. Drops settings that the model lacks, with a warning. An unknown model gets
 * all settings, without checks.
 */
export async function toRequest(client: Client, model: string, options: Options, isStream = false) {
  const row = Object.hasOwn(chatModels, model) ? chatModels[model as ChatModel] : undefined;
  const warnings = createWarnings();
  const messages = await toMessages(options.prompt, warnings);
  const body: object = {
    ...toSampling(options, row, warnings),
    ...toTools(options, row, warnings),
    ...toFormat(options, row, warnings),
    // the client requests the usage of known models
    ...(!row && isStream && client.gateway.includeUsage && { stream_options: { include_usage: true } }),
    ...readFields(options.providerOptions),
    model,
    messages: addSchema(messages, options),
  };
  // the client checks the request of a known model
  return { body: body as ChatRequest, checks: row !== undefined, warnings: warnings.list };
}

/** Converts the settings of the sampling, the length and the thinking. */
function toSampling(options: Options, row: Row, warnings: Warnings) {
  const { maxOutputTokens, temperature, topP, topK, seed, includeRawChunks } = options;
  const { presencePenalty, frequencyPenalty, stopSequences = [] } = options;
  const hasPenalties = row?.penalties ?? true;
  if (topK !== undefined) warnings.unsupported("topK");
  if (seed !== undefined && row) warnings.unsupported("seed");
  if (includeRawChunks) warnings.unsupported("includeRawChunks");
  if (presencePenalty !== undefined && !hasPenalties) warnings.unsupported("presencePenalty");
  if (frequencyPenalty !== undefined && !hasPenalties) warnings.unsupported("frequencyPenalty");
  const effort = chooseEffort(options, row, warnings);
  return {
    ...(maxOutputTokens !== undefined && { max_tokens: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(seed !== undefined && !row && { seed }),
    ...(presencePenalty !== undefined && hasPenalties && { presence_penalty: presencePenalty }),
    ...(frequencyPenalty !== undefined && hasPenalties && { frequency_penalty: frequencyPenalty }),
    // `gamma` accepts a string, but not a list
    ...(stopSequences.length > 0 && { stop: stopSequences.length === 1 ? stopSequences[0] : stopSequences }),
    ...(effort !== undefined && { reasoning_effort: effort }),
  };
}

/** Efforts of the models, by the names of the SDK. */
const efforts = {
  none: "none",
  minimal: "low",
  low: "low",
  medium: "high",
  high: "high",
  xhigh: "max",
  max: "max",
} as const;

function chooseEffort(
  { reasoning = "provider-default" }: Options,
  row: Row,
  warnings: Warnings,
): string | undefined {
  if (reasoning === "provider-default") return undefined;
  if (!row) return reasoning;
  const effort = efforts[reasoning];
  const known: readonly string[] = row.reasoningEffort;
  if (!known.includes(effort)) {
    warnings.unsupported(
      `reasoning: ${reasoning}`,
      known.length ? `this model has ${known.join(", ")}` : undefined,
    );
    return undefined;
  }
  if (effort !== reasoning) warnings.changed(`reasoning: ${reasoning}`, `sent as ${effort}`);
  return effort;
}

function toTools({ tools = [], toolChoice }: Options, row: Row, warnings: Warnings) {
  if (tools.length === 0) return {};
  if (row && !row.tools) {
    warnings.unsupported("tools");
    return {};
  }
  const functions = tools.flatMap((tool) => {
    if (tool.type === "function") return [tool];
    warnings.unsupported(`the provider's tool ${tool.id}`);
    return [];
  });
  return {
    tools: functions.map(({ name, description, inputSchema, strict }) => ({
      type: "function",
      function: {
        name,
        ...(description !== undefined && { description }),
        parameters: inputSchema,
        ...(strict !== undefined && { strict }),
      },
    })),
    ...(toolChoice && {
      tool_choice:
        toolChoice.type === "tool"
          ? { type: "function", function: { name: toolChoice.toolName } }
          : toolChoice.type,
    }),
  };
}

function toFormat({ responseFormat }: Options, row: Row, warnings: Warnings) {
  if (responseFormat?.type !== "json") return {};
  if (!row || row.jsonMode) return { response_format: { type: "json_object" } };
  warnings.changed("responseFormat", "this model has no JSON mode: the instructions ask for JSON");
  return {};
}

/** Adds the schema of the response after the app's instructions, since no model has a field for it. */
function addSchema(
  messages: readonly ChatRequestMessage[],
  { responseFormat }: Options,
): ChatRequestMessage[] {
  if (responseFormat?.type !== "json") return [...messages];
  const { schema, name, description } = responseFormat;
  const summary = [name, description].filter(Boolean).join(": ");
  const content = [
    "Answer with JSON alone, without a code fence and without words around it.",
    ...(summary ? [`The JSON is: ${summary}`] : []),
    ...(schema ? [`It must fit this JSON Schema:\n${JSON.stringify(schema)}`] : []),
  ].join("\n");
  const index = messages.findIndex(({ role }) => role !== "system");
  const start = index === -1 ? messages.length : index;
  return messages.toSpliced(start, 0, { role: "system", content });
}
